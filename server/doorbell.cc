#include "server/doorbell.h"

#include <algorithm>
#include <thread>

namespace engram {
namespace {

constexpr std::chrono::microseconds kWatch{60};

}  // namespace

void Doorbell::Ring() {
  {
    MutexLock lock(mu_);
    if (rung_.exchange(true)) return;
  }
  rung_changed_.NotifyOne();
}

bool Doorbell::WaitFor(absl::Duration wait) {
  const Clock::time_point begin = Clock::now();
  // Capped: the sum with the clock must not overflow.
  const Clock::time_point end = begin + absl::ToChronoMicroseconds(std::min(wait, absl::Hours(1)));
  Watch(std::min(end, begin + kWatch));
  MutexLock lock(mu_);
  for (auto now = Clock::now(); !rung_.load() && now < end; now = Clock::now()) {
    rung_changed_.WaitFor(mu_, absl::FromChrono(end - now));
  }
  return rung_.exchange(false);
}

// Gives way to threads that could run: they may be the ones that ring.
void Doorbell::Watch(Clock::time_point end) const {
  while (!rung_.load(std::memory_order_relaxed) && Clock::now() < end) std::this_thread::yield();
}

}  // namespace engram
