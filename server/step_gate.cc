#include "server/step_gate.h"

#include "absl/strings/str_cat.h"

namespace engram {

absl::StatusOr<StepTicket> StepGate::Enter() {
  {
    MutexLock lock(mu_);
    if (!closed_.ok()) return closed_;
  }
  StepTicket ticket(steps_);
  if (steps_->fetch_add(1) < steps_max_) return ticket;
  return absl::ResourceExhaustedError(
      absl::StrCat("the server has queue_steps_max = ", steps_max_, " steps under way; repeat this one later"));
}

void StepGate::Close(absl::Status why) {
  MutexLock lock(mu_);
  closed_ = std::move(why);
}

absl::Status StepGate::status() {
  MutexLock lock(mu_);
  return closed_;
}

}  // namespace engram
