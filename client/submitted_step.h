// A step between Client::Submit and its result.

#ifndef ENGRAM_CLIENT_SUBMITTED_STEP_H_
#define ENGRAM_CLIENT_SUBMITTED_STEP_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "client/backoff.h"
#include "client/step_result.h"
#include "client/tracked_session.h"

namespace engram {

// Deadlines are of the steady clock: a step of the wall clock neither stretches nor cuts them.
using ClientClock = std::chrono::steady_clock;

// Infinite, or absurdly long, means never.
inline ClientClock::time_point TimeIn(absl::Duration wait, ClientClock::time_point now) {
  if (wait > absl::Hours(24 * 365) || now == ClientClock::time_point::max()) return ClientClock::time_point::max();
  return now + absl::ToChronoNanoseconds(std::max(wait, absl::ZeroDuration()));
}

// The client that holds it in its list of unfinished steps may change what is not const, under its lock; whoever takes
// it off that list calls Finish, once and without a lock. Any thread waits.
class SubmittedStep {
 public:
  using Done = std::function<void(StepResult)>;

  SubmittedStep(uint64_t id, TrackedStep what, ClientClock::time_point now, ClientClock::time_point until,
                Done callback)
      : step_id(id),
        bytes(what.request.ByteSizeLong()),
        submitted(now),
        deadline(until),
        step(std::move(what)),
        done_(std::move(callback)) {}

  void Finish(StepResult result) {
    result.step_id = step_id;
    if (done_) {
      done_(std::move(result));
    } else {
      result_ = std::move(result);
    }
    finished_.Notify();
  }
  bool WaitFor(absl::Duration timeout) const { return finished_.WaitForNotificationWithTimeout(timeout); }
  StepResult Take() {
    finished_.WaitForNotification();
    return std::move(result_);
  }

  const uint64_t step_id;  // in order of submission
  const uint64_t bytes;    // of the request
  const ClientClock::time_point submitted;
  const ClientClock::time_point deadline;
  TrackedStep step;
  bool keep_unique = false;  // see StepOptions
  uint32_t losses = 0;       // of connections it was in flight on
  bool suspect = false;      // it may be what ended one of them: goes alone
  // While another stream has one of its sessions: the waits between attempts, and the end of the present one.
  std::optional<Backoff> busy;
  ClientClock::time_point again_at = ClientClock::time_point::max();
  // Since when no server could take it; max: one could. A server that answers UNAVAILABLE or ABORTED does not end the
  // wait.
  ClientClock::time_point waiting_since = ClientClock::time_point::max();

 private:
  const Done done_;
  StepResult result_;
  absl::Notification finished_;
};

}  // namespace engram

#endif  // ENGRAM_CLIENT_SUBMITTED_STEP_H_
