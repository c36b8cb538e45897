#include "client/load/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace engram {
namespace {

absl::Duration Ns(uint64_t ns) { return absl::Nanoseconds(static_cast<int64_t>(ns)); }

}  // namespace

// Past the linear part: the value's power of two, and the kBits bits behind its highest one.
size_t LatencyHistogram::BucketOf(uint64_t ns) {
  if (ns < kLinear) return ns;
  const int octave = static_cast<int>(std::bit_width(ns)) - 1 - kBits;
  const size_t bucket = (static_cast<size_t>(octave) + 1) * kLinear + ((ns >> octave) - kLinear);
  return std::min(bucket, kBuckets - 1);
}

uint64_t LatencyHistogram::BucketFrom(size_t bucket) {
  if (bucket < kLinear) return bucket;
  return (kLinear + bucket % kLinear) << (bucket / kLinear - 1);
}

void LatencyHistogram::Add(absl::Duration latency) {
  const auto ns = static_cast<uint64_t>(std::max<int64_t>(0, absl::ToInt64Nanoseconds(latency)));
  if (buckets_.empty()) buckets_.resize(kBuckets);
  ++buckets_[BucketOf(ns)];
  min_ns_ = count_ == 0 ? ns : std::min(min_ns_, ns);
  max_ns_ = std::max(max_ns_, ns);
  sum_ns_ += static_cast<double>(ns);
  ++count_;
}

void LatencyHistogram::Merge(const LatencyHistogram& other) {
  if (other.count_ == 0) return;
  if (buckets_.empty()) buckets_.resize(kBuckets);
  for (size_t i = 0; i < kBuckets; ++i) buckets_[i] += other.buckets_[i];
  min_ns_ = count_ == 0 ? other.min_ns_ : std::min(min_ns_, other.min_ns_);
  max_ns_ = std::max(max_ns_, other.max_ns_);
  sum_ns_ += other.sum_ns_;
  count_ += other.count_;
}

// Keeps its memory.
void LatencyHistogram::Clear() {
  std::fill(buckets_.begin(), buckets_.end(), 0);
  count_ = 0;
  min_ns_ = 0;
  max_ns_ = 0;
  sum_ns_ = 0;
}

absl::Duration LatencyHistogram::min() const { return Ns(min_ns_); }
absl::Duration LatencyHistogram::max() const { return Ns(max_ns_); }

absl::Duration LatencyHistogram::mean() const {
  return count_ == 0 ? absl::ZeroDuration() : absl::Nanoseconds(sum_ns_ / static_cast<double>(count_));
}

absl::Duration LatencyHistogram::Quantile(double share) const {
  if (count_ == 0) return absl::ZeroDuration();
  const auto rank = static_cast<uint64_t>(std::ceil(std::clamp(share, 0.0, 1.0) * static_cast<double>(count_)));
  if (rank >= count_) return max();
  uint64_t below = 0;
  size_t bucket = 0;
  while (below + buckets_[bucket] < std::max<uint64_t>(rank, 1)) below += buckets_[bucket++];
  const uint64_t middle = (BucketFrom(bucket) + BucketFrom(bucket + 1) - 1) / 2;
  return Ns(std::clamp(middle, min_ns_, max_ns_));
}

std::vector<LatencyHistogram::Bar> LatencyHistogram::Bars(size_t bars_an_octave) const {
  std::vector<Bar> bars;
  const size_t width = kLinear / bars_an_octave;
  for (size_t from = 0; from < buckets_.size(); from += width) {
    uint64_t count = 0;
    for (size_t bucket = from; bucket < from + width; ++bucket) count += buckets_[bucket];
    if (count > 0) bars.push_back({Ns(BucketFrom(from)), Ns(BucketFrom(from + width)), count});
  }
  return bars;
}

}  // namespace engram
