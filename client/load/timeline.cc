#include "client/load/timeline.h"

#include <algorithm>
#include <utility>

namespace engram {
namespace {

TimelinePoint PointOf(absl::Duration begin, absl::Duration end, const LoadTally& tally, uint64_t due) {
  const KindTally all = tally.All();
  TimelinePoint point;
  point.begin = begin;
  point.length = end - begin;
  point.steps = all.ok;
  point.tokens = all.tokens;
  point.bytes = all.bytes;
  point.errors = all.failed + tally.starts_dropped;
  point.due = due;
  point.p50 = all.latency.Quantile(0.5);
  point.p99 = all.latency.Quantile(0.99);
  point.max = all.latency.max();
  return point;
}

void PutTogether(const TimelinePoint& next, TimelinePoint& point) {
  point.length += next.length;
  point.steps += next.steps;
  point.tokens += next.tokens;
  point.bytes += next.bytes;
  point.errors += next.errors;
  point.due = next.due;
  point.p50 = std::max(point.p50, next.p50);
  point.p99 = std::max(point.p99, next.p99);
  point.max = std::max(point.max, next.max);
}

}  // namespace

void Timeline::Add(absl::Duration begin, absl::Duration end, const LoadTally& tally, uint64_t due) {
  if (end <= begin) return;
  const TimelinePoint point = PointOf(begin, end, tally, due);
  if (!points_.empty() && point.length < points_.back().length / static_cast<int64_t>(2 * in_last_)) {
    return PutTogether(point, points_.back());
  }
  if (in_last_ == together_ && points_.size() == points_max_) Halve();
  if (in_last_ == together_) {
    points_.push_back(point);
    in_last_ = 1;
  } else {
    PutTogether(point, points_.back());
    ++in_last_;
  }
}

// An odd last point stays half full.
void Timeline::Halve() {
  const bool odd = points_.size() % 2 == 1;
  std::vector<TimelinePoint> halved;
  for (size_t i = 0; i < points_.size(); i += 2) {
    halved.push_back(points_[i]);
    if (i + 1 < points_.size()) PutTogether(points_[i + 1], halved.back());
  }
  points_ = std::move(halved);
  in_last_ = odd ? together_ : 2 * together_;
  together_ *= 2;
}

}  // namespace engram
