#include "client/load/arrivals.h"

#include <utility>

namespace engram {

Arrivals FixedArrivals(double rate, size_t stream, size_t streams) {
  // By multiplication: a sum of gaps would drift.
  return [rate, streams, next = stream]() mutable -> std::optional<absl::Duration> {
    const absl::Duration start = absl::Seconds(static_cast<double>(next) / rate);
    next += streams;
    return start;
  };
}

Arrivals PoissonArrivals(double rate, size_t streams, uint64_t seed) {
  std::exponential_distribution<double> gap(rate / static_cast<double>(streams));
  return [gap, random = std::mt19937_64(seed), at = 0.0]() mutable -> std::optional<absl::Duration> {
    at += gap(random);
    return absl::Seconds(at);
  };
}

IntendedStarts::IntendedStarts(Arrivals arrivals, LoadTime begin, size_t due_max)
    : arrivals_(std::move(arrivals)), begin_(begin), due_max_(due_max), next_(Draw()) {}

LoadTime IntendedStarts::Draw() {
  const std::optional<absl::Duration> start = arrivals_();
  return start.has_value() ? begin_ + absl::ToChronoNanoseconds(*start) : LoadTime::max();
}

void IntendedStarts::Advance(LoadTime now) {
  for (; next_ <= now; next_ = Draw()) {
    if (due_.size() < due_max_) {
      due_.push_back(next_);
    } else {
      ++dropped_;
    }
  }
}

std::optional<LoadTime> IntendedStarts::Pop() {
  if (due_.empty()) return std::nullopt;
  const LoadTime start = due_.front();
  due_.pop_front();
  return start;
}

}  // namespace engram
