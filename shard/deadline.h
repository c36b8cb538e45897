// Points in time by which a wait on a peer must have ended. Monotonic: a step of the wall clock must not fell a job.

#ifndef ENGRAM_SHARD_DEADLINE_H_
#define ENGRAM_SHARD_DEADLINE_H_

#include <algorithm>
#include <chrono>

#include "absl/time/time.h"

namespace engram {

using Deadline = std::chrono::steady_clock::time_point;

// Clipped to ten years, so that InfiniteDuration does not overflow the clock.
inline Deadline DeadlineAfter(absl::Duration duration) {
  return std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(std::min(duration, absl::Hours(24 * 3650)));
}

inline bool HasPassed(Deadline deadline) { return std::chrono::steady_clock::now() >= deadline; }

}  // namespace engram

#endif  // ENGRAM_SHARD_DEADLINE_H_
