#include "server/engine_loop.h"

#include <chrono>

#include "absl/time/clock.h"

namespace engram {
namespace {

using Clock = std::chrono::steady_clock;  // a step of the wall clock must not hold heartbeats back

absl::Status LoseAll(Scheduler& scheduler, Engine& engine, absl::Status lost) {
  scheduler.FailAll(lost);
  // Delivers the last frames; nothing is left to gather.
  const absl::StatusOr<size_t> rest = scheduler.RunRound(engine, absl::Now());
  return rest.ok() ? lost : rest.status();
}

}  // namespace

absl::Status RunEngineLoop(Scheduler& scheduler, Engine& engine, absl::Duration heartbeat,
                           const std::atomic<bool>& stop) {
  const auto interval = absl::ToChronoNanoseconds(heartbeat);
  Clock::time_point heard = Clock::now();
  while (!stop.load()) {
    const uint64_t gathers = scheduler.counters().gathers;
    const absl::StatusOr<size_t> frames = scheduler.RunRound(engine, absl::Now());
    if (!frames.ok()) return frames.status();
    if (scheduler.counters().gathers > gathers) heard = Clock::now();
    if (Clock::now() - heard >= interval) {
      if (absl::Status status = engine.Heartbeat(); absl::IsUnavailable(status)) {
        return LoseAll(scheduler, engine, std::move(status));
      }
      heard = Clock::now();
    }
    if (*frames == 0) scheduler.WaitFor(absl::FromChrono(heard + interval - Clock::now()), absl::Now());
  }
  return absl::OkStatus();
}

}  // namespace engram
