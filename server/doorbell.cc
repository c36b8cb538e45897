#include "server/doorbell.h"

#include <chrono>
#include <utility>

namespace engram {

void Doorbell::Ring() {
  {
    MutexLock lock(mu_);
    if (std::exchange(rung_, true)) return;
  }
  rung_changed_.NotifyOne();
}

bool Doorbell::WaitFor(absl::Duration wait) {
  using Clock = std::chrono::steady_clock;
  // Capped: the sum with the clock must not overflow.
  const Clock::time_point end = Clock::now() + absl::ToChronoMicroseconds(std::min(wait, absl::Hours(1)));
  MutexLock lock(mu_);
  for (auto now = Clock::now(); !rung_ && now < end; now = Clock::now()) {
    rung_changed_.WaitFor(mu_, absl::FromChrono(end - now));
  }
  return std::exchange(rung_, false);
}

}  // namespace engram
