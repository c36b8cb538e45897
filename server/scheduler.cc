#include "server/scheduler.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "model/check.h"

namespace engram {
namespace {

// A round in the thread that submitted the step: as long as a small write to a socket takes. That thread drives other
// streams too.
constexpr RoundBounds kLedRound{.payload_bytes = uint64_t{256} << 10, .decode_only = true};

}  // namespace

Scheduler::Scheduler(const Geometry& geometry, const HashConstants& constants, SchedulerOptions options)
    : options_(std::move(options)),
      queue_(geometry, options_, doorbell_),
      sender_(options_.sender_thread, stages_),
      runner_(geometry, constants, options_, queue_, stages_, sender_) {}

void Scheduler::Submit(uint64_t stream_id, StepTicket ticket, Step step) {
  const bool small = step.reply_bytes <= kLedRound.payload_bytes;
  queue_.Submit(stream_id, std::move(ticket), std::move(step));
  if (!small || !Lead()) doorbell_->Ring();
}

bool Scheduler::Lead() {
  if (!is_lent_.load(std::memory_order_relaxed) || !turn_.TryLock()) return false;
  const bool served = lent_ != nullptr && runner_.Run(*lent_, kLedRound, absl::Now()).ok();
  turn_.Unlock();
  return served && !queue_.AnythingWaits();
}

void Scheduler::FailAll(const absl::Status& status) {
  queue_.FailAll(status);
  doorbell_->Ring();
}

RoundCounters Scheduler::counters() {
  MutexLock turn(turn_);
  return runner_.counters();
}

absl::StatusOr<size_t> Scheduler::RunRound(Engine& engine, absl::Time now) {
  MutexLock turn(turn_);
  return runner_.Run(engine, RoundBounds{.payload_bytes = options_.frames.round_bytes_max}, now);
}

absl::Status Scheduler::FinishRounds(Engine& engine, absl::Time now) {
  MutexLock turn(turn_);
  return runner_.Finish(engine, now);
}

absl::Status Scheduler::Heartbeat(Engine& engine) {
  MutexLock turn(turn_);
  return engine.Heartbeat();
}

void Scheduler::WaitFor(absl::Duration wait, absl::Time now) {
  {
    MutexLock turn(turn_);
    if (runner_.in_flight()) return;
  }
  doorbell_->WaitFor(std::min(wait, queue_.NextDeadline() - now));
}

void Scheduler::Lend(Engine& engine) {
  ENGRAM_CHECK(engine.serves_any_thread() && engine.rounds_in_flight_max() == 1);
  MutexLock turn(turn_);
  lent_ = &engine;
  is_lent_ = true;
}

void Scheduler::TakeBack() {
  MutexLock turn(turn_);
  lent_ = nullptr;
  is_lent_ = false;
}

}  // namespace engram
