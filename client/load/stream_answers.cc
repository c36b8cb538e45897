// What becomes of a stream's steps.

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/load/stream.h"

namespace engram {
namespace {

constexpr auto kRest = std::chrono::milliseconds(10);  // after a failure, in a closed loop

}  // namespace

// A step that was answered before its time came counts, but nobody knows since when the answer was there.
void RunStream::CancelDue(LoadTime now) {
  if (options_.cancel_fraction <= 0) return;
  for (auto it = flights_.begin(); it != flights_.end();) {
    const auto& [id, flight] = *it++;
    if (flight.cancel_at > now || !flight.future.has_value()) continue;
    StepFuture future = *flight.future;
    future.Cancel();
    Settle(LoadAnswer{id, LoadNow(), future.Wait()}, false);
  }
}

void RunStream::Settle(LoadAnswer answer, bool timed) {
  const auto found = flights_.find(answer.flight);
  Flight flight = std::move(found->second);
  flights_.erase(found);
  in_flight_.store(flights_.size(), std::memory_order_relaxed);
  profile_->Done(flight.step);
  Settle(flight, answer, timed);
  if (flight.check && answer.result.status.ok()) {
    shared_.checks->Push(absl::StrCat("stream ", number_, ", step ", answer.flight), std::move(flight.step),
                         std::move(answer.result));
  }
}

void RunStream::Settle(const Flight& flight, const LoadAnswer& answer, bool timed) {
  StepOutcome outcome;
  outcome.kind = flight.step.kind;
  outcome.intended = flight.intended;
  outcome.sent = flight.sent;
  outcome.finished = answer.at;
  outcome.timed = timed;
  outcome.status = answer.result.status;
  if (absl::IsCancelled(outcome.status) && flight.future.has_value()) outcome.end = StepOutcome::End::kCancelled;
  if (absl::IsCancelled(outcome.status) && flight.interrupted) outcome.end = StepOutcome::End::kInterrupted;
  for (size_t i = 0; i < flight.step.segments.size() && outcome.status.ok(); ++i) {
    absl::Status segment = answer.result.segment_status(i);
    if (segment.ok()) {
      outcome.tokens += flight.step.segments[i].tokens.size();
    } else {
      outcome.refused.push_back(std::move(segment));
    }
  }
  outcome.rows = outcome.tokens * shared_.token_rows;
  outcome.bytes = outcome.tokens * shared_.token_bytes;
  outcome.shared = answer.result.through_shared_memory;
  shared_.scoreboard->Add(outcome);
  latency_ = absl::FromChrono(answer.at - flight.sent);
  const bool failed = outcome.end == StepOutcome::End::kAnswered && !outcome.ok();
  if (failed && !options_.open_loop()) rest_until_ = answer.at + kRest;
}

}  // namespace engram
