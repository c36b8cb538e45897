// When the steps of an open loop are to start, whatever the server does.

#ifndef ENGRAM_CLIENT_LOAD_ARRIVALS_H_
#define ENGRAM_CLIENT_LOAD_ARRIVALS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <random>

#include "absl/time/time.h"

namespace engram {

// Points in time of a run are of the steady clock.
using LoadTime = std::chrono::steady_clock::time_point;
inline LoadTime LoadNow() { return LoadTime::clock::now(); }

// Gives intended starts, counted from the start of the run and never falling; none: no further ones.
using Arrivals = std::function<std::optional<absl::Duration>()>;

// One of `streams` that share `rate` (above 0, a second, all streams together).
//   fixed:    the streams take turns, so that all together start evenly spaced
//   Poisson:  exponential gaps, by the seed; the streams together are a Poisson process of `rate`
Arrivals FixedArrivals(double rate, size_t stream, size_t streams);
Arrivals PoissonArrivals(double rate, size_t streams, uint64_t seed);

// The starts that are due and have not been made: what a stall leaves behind. Holds at most `due_max`; a start that
// comes due while it is full is dropped, and counted. Not thread-safe.
class IntendedStarts {
 public:
  IntendedStarts(Arrivals arrivals, LoadTime begin, size_t due_max);

  // Takes in what has come due by `now`.
  void Advance(LoadTime now);
  // The oldest start that is due, off the queue.
  std::optional<LoadTime> Pop();
  // The start after those that Advance has taken in; max() when there is none.
  LoadTime next() const { return next_; }

  size_t due() const { return due_.size(); }
  uint64_t dropped() const { return dropped_; }

 private:
  LoadTime Draw();

  const Arrivals arrivals_;
  const LoadTime begin_;
  const size_t due_max_;
  LoadTime next_;
  std::deque<LoadTime> due_;
  uint64_t dropped_ = 0;
};

}  // namespace engram

#endif  // ENGRAM_CLIENT_LOAD_ARRIVALS_H_
