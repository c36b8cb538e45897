// How a run went over time, in bounded memory.

#ifndef ENGRAM_CLIENT_LOAD_TIMELINE_H_
#define ENGRAM_CLIENT_LOAD_TIMELINE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "client/load/tally.h"

namespace engram {

struct TimelinePoint {
  absl::Duration begin;   // from the start of the run, the warm-up included
  absl::Duration length;  // above zero
  uint64_t steps = 0;     // that were ok
  uint64_t tokens = 0;
  uint64_t bytes = 0;
  uint64_t errors = 0;  // failed steps and dropped starts
  uint64_t due = 0;     // intended starts not made yet, at its end
  absl::Duration p50;   // of points put together: the highest of theirs; p99 and max likewise
  absl::Duration p99;
  absl::Duration max;

  double steps_per_s() const { return static_cast<double>(steps) / absl::ToDoubleSeconds(length); }
  double tokens_per_s() const { return static_cast<double>(tokens) / absl::ToDoubleSeconds(length); }
  double bytes_per_s() const { return static_cast<double>(bytes) / absl::ToDoubleSeconds(length); }
};

// Points in order of time. Never more than `points_max` (at least 2): each time they would be, neighbours are put
// together two by two. Not thread-safe.
class Timeline {
 public:
  explicit Timeline(size_t points_max) : points_max_(points_max) {}

  // What was counted in [begin, end); an empty interval adds nothing, and one that is shorter than half of those before
  // (the last of a run) joins the last point: its rates alone would say little.
  void Add(absl::Duration begin, absl::Duration end, const LoadTally& tally, uint64_t due);
  const std::vector<TimelinePoint>& points() const { return points_; }

 private:
  void Halve();

  size_t points_max_;
  size_t together_ = 1;  // intervals in each point
  size_t in_last_ = 1;   // intervals in the last one; `together_` where the next begins a point
  std::vector<TimelinePoint> points_;
};

}  // namespace engram

#endif  // ENGRAM_CLIENT_LOAD_TIMELINE_H_
