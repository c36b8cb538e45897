// Steps: answered, put back to be sent again, finished.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/client_core.h"

namespace engram {

void ClientCore::OnAnswered(const std::shared_ptr<Link>& link, const Step& step, StepResult result) {
  const Time now = ClientClock::now();
  Outcome outcome;
  {
    MutexLock lock(mu_);
    const absl::Status status = result.status;
    const Verdict verdict = link->Answered(step->step_id, result);
    if (verdict == Verdict::kElsewhere && link == current_) Retire(current_, status, now);
    if (verdict == Verdict::kFinished || verdict == Verdict::kAgain || verdict == Verdict::kBusy) {
      addresses_.Succeeded();
      backoff_.Reset();
    }
    if (steps_.count(step->step_id) == 0) {
      // It was cancelled, or its time was up.
    } else if (verdict == Verdict::kFinished) {
      Finish(step, std::move(result), outcome);
    } else {
      PutBack(step, verdict, std::move(result), now, outcome);
    }
    Pump(now);
    if (link != current_) Wake();
  }
  Settle(std::move(outcome));
}

void ClientCore::PutBack(const Step& step, Verdict verdict, StepResult result, Time now, Outcome& outcome) {
  if (verdict == Verdict::kLost) {
    // The server, or the transport, went for reasons of its own; anything else may be the fault of a step in flight.
    if (!absl::IsUnavailable(result.status) && !absl::IsCancelled(result.status)) step->suspect = true;
    if (++step->losses > options_.losses_max) {
      return Finish(step,
                    absl::UnavailableError(absl::StrCat("the step was in flight on ", step->losses,
                                                        " connections that were lost, losses_max is ",
                                                        options_.losses_max, ": ", result.status.message())),
                    outcome);
    }
    step->waiting_since = now;
  }
  if (verdict == Verdict::kElsewhere || verdict == Verdict::kBusy) {
    step->waiting_since = std::min(step->waiting_since, now);
    if (now - step->waiting_since >= absl::ToChronoNanoseconds(options_.unavailable_timeout)) {
      return Finish(step, std::move(result), outcome);
    }
  }
  if (verdict == Verdict::kBusy) return Delay(step, now);
  queued_.insert(step->step_id);
}

void ClientCore::Delay(const Step& step, Time now) {
  if (!step->busy.has_value()) step->busy.emplace(options_.backoff, JitterSeed(options_.random_seed));
  step->again_at = now + absl::ToChronoNanoseconds(step->busy->Next());
  delayed_.emplace(step->again_at, step->step_id);
  Wake();
}

void ClientCore::Cancel(uint64_t step_id) {
  Outcome outcome;
  {
    MutexLock lock(mu_);
    const auto found = steps_.find(step_id);
    if (found == steps_.end()) return;
    CancelOnLinks(step_id);
    Finish(found->second, absl::CancelledError("cancelled by the caller"), outcome);
    Pump(ClientClock::now());
  }
  Settle(std::move(outcome));
}

void ClientCore::Finish(const Step& step, absl::Status status, Outcome& outcome) {
  StepResult result;
  result.status = std::move(status);
  Finish(step, std::move(result), outcome);
}

void ClientCore::Finish(const Step& step, StepResult result, Outcome& outcome) {
  outcome.finished.emplace_back(step, std::move(result));
  request_bytes_ -= step->bytes;
  deadlines_.erase({step->deadline, step->step_id});
  queued_.erase(step->step_id);
  delayed_.erase({step->again_at, step->step_id});
  step->step = {};
  steps_.erase(step->step_id);  // `step` may be what it held
}

}  // namespace engram
