#include "shard/backoff.h"

#include <sched.h>

#include <algorithm>
#include <thread>

namespace engram {
namespace {

inline void RelaxProcessor() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

void Backoff::Pause() {
  const std::chrono::nanoseconds elapsed = Elapsed();
  if (elapsed < pacing_.spin) {
    RelaxProcessor();
  } else if (elapsed < pacing_.yield) {
    sched_yield();
  } else {
    std::this_thread::sleep_for(std::clamp(elapsed / pacing_.sleep_divisor, pacing_.sleep_min, pacing_.sleep_max));
  }
}

}  // namespace engram
