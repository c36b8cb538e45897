// Latencies counted in log-linear buckets: exact to less than 1 %, whatever their range, in constant memory.

#ifndef ENGRAM_CLIENT_LOAD_HISTOGRAM_H_
#define ENGRAM_CLIENT_LOAD_HISTOGRAM_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/time/time.h"

namespace engram {

// Values below 128 ns have a bucket each; from there on each power of two is cut into 128 buckets of equal width, so
// that a bucket is at most 1/128 of its values wide and its middle is off by at most 0.4 %. Up to 2^42 ns (73 minutes);
// what is above counts there, but for max() and mean(), which are exact. 36 KiB once the first value is in. Copyable;
// not thread-safe.
class LatencyHistogram {
 public:
  // A negative value counts as 0.
  void Add(absl::Duration latency);
  void Merge(const LatencyHistogram& other);
  void Clear();

  uint64_t count() const { return count_; }
  absl::Duration min() const;   // exact; zero without values
  absl::Duration max() const;   // exact; zero without values
  absl::Duration mean() const;  // exact; zero without values

  // The smallest bucket, by its middle, at or below which at least `share` (0 to 1) of the values lie; never outside
  // [min(), max()]. Share 1 is max(). Zero without values.
  absl::Duration Quantile(double share) const;

  // Values between two bounds; where there are none nothing is said.
  struct Bar {
    absl::Duration from;
    absl::Duration to;
    uint64_t count = 0;
  };
  // Ascending, with `bars_an_octave` (a power of two, at most 128) bars for each power of two, for drawing.
  std::vector<Bar> Bars(size_t bars_an_octave) const;

 private:
  static constexpr int kBits = 7;                            // of a bucket's place within its power of two
  static constexpr uint64_t kLinear = uint64_t{1} << kBits;  // values below have a bucket each
  static constexpr int kOctaves = 42 - kBits;
  static constexpr size_t kBuckets = (kOctaves + 1) * kLinear;

  static size_t BucketOf(uint64_t ns);
  static uint64_t BucketFrom(size_t bucket);  // the lowest value in it

  std::vector<uint64_t> buckets_;  // empty until the first value
  uint64_t count_ = 0;
  uint64_t min_ns_ = 0;
  uint64_t max_ns_ = 0;
  double sum_ns_ = 0;
};

}  // namespace engram

#endif  // ENGRAM_CLIENT_LOAD_HISTOGRAM_H_
