#include "server/engine_loop.h"

#include <chrono>

#include "absl/time/clock.h"

namespace engram {
namespace {

using Clock = std::chrono::steady_clock;  // a step of the wall clock must not hold heartbeats back

// Of an engine that serves any thread, for the time of the loop.
class Loan {
 public:
  Loan(Scheduler& scheduler, Engine& engine) : scheduler_(scheduler) {
    if (engine.serves_any_thread()) scheduler_.Lend(engine);
  }
  ~Loan() { scheduler_.TakeBack(); }
  Loan(const Loan&) = delete;
  Loan& operator=(const Loan&) = delete;

 private:
  Scheduler& scheduler_;
};

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
  const Loan loan(scheduler, engine);
  while (!stop.load()) {
    const uint64_t gathers = scheduler.counters().gathers;
    const absl::StatusOr<size_t> frames = scheduler.RunRound(engine, absl::Now());
    if (!frames.ok()) return frames.status();
    if (scheduler.counters().gathers > gathers) {
      heard = Clock::now();
    } else if (Clock::now() - heard >= interval) {  // nothing is in flight: that needs a gather that was just begun
      if (absl::Status status = scheduler.Heartbeat(engine); absl::IsUnavailable(status)) {
        return LoseAll(scheduler, engine, std::move(status));
      }
      heard = Clock::now();
    }
    if (*frames == 0) scheduler.WaitFor(absl::FromChrono(heard + interval - Clock::now()), absl::Now());
  }
  return scheduler.FinishRounds(engine, absl::Now());
}

void TellLateSteps(Scheduler& scheduler, Engine& engine, const StepGate& gate, const absl::Status& lost,
                   absl::Duration wait) {
  const Clock::time_point give_up = Clock::now() + absl::ToChronoNanoseconds(wait);
  for (; gate.steps() > 0 && Clock::now() < give_up; absl::SleepFor(absl::Milliseconds(1))) {
    scheduler.FailAll(lost);
    // Delivers the last frames. Should a step slip in even now, the engine says of it what it says of every round.
    const absl::StatusOr<size_t> told = scheduler.RunRound(engine, absl::Now());
    if (!told.ok() && !absl::IsUnavailable(told.status())) return;
  }
}

}  // namespace engram
