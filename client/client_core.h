// What is behind Client: the steps it holds, the connections it has, and the thread that tends them.

#ifndef ENGRAM_CLIENT_CLIENT_CORE_H_
#define ENGRAM_CLIENT_CLIENT_CORE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/addresses.h"
#include "client/backoff.h"
#include "client/client.h"
#include "client/link.h"
#include "client/submitted_step.h"
#include "model/mutex.h"

namespace engram {

// Life cycle: construct, Start once, use from any thread, Stop once, before the last reference goes. Nothing under the
// lock waits for anything or calls out to the caller: results and closed connections are collected in an Outcome and
// settled without it.
//
// A step is in steps_ until it is finished. While it is not in flight on a link it is in queued_, or in delayed_ until
// its time has come. When a connection ends with an error that may be the fault of a step in flight, all of those
// become suspects: each is sent alone, so that the guilty one ends alone and the others are served. Links come into
// being as attempt_, become current_ with their Welcome, and retire when they take no further steps, until the thread
// shuts them down: once they have ended, or owe no answer.
class ClientCore {
 public:
  explicit ClientCore(ClientOptions options);

  void Start();
  void Stop() ABSL_LOCKS_EXCLUDED(mu_);

  // As Client's.
  absl::StatusOr<std::shared_ptr<SubmittedStep>> Submit(TrackedStep step, const StepOptions& options,
                                                        SubmittedStep::Done done) ABSL_LOCKS_EXCLUDED(mu_);
  void Cancel(uint64_t step_id) ABSL_LOCKS_EXCLUDED(mu_);
  absl::StatusOr<v1::Model> AwaitModel(absl::Duration timeout) ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status status() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  using Time = ClientClock::time_point;
  using Step = std::shared_ptr<SubmittedStep>;
  struct Outcome {
    std::vector<std::pair<Step, StepResult>> finished;
    std::vector<std::shared_ptr<Link>> ended;
  };
  static void Settle(Outcome outcome);

  // Steps: client_core.cc and client_answers.cc.
  absl::Status CheckRoom(uint64_t bytes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Pump(Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnAnswered(const std::shared_ptr<Link>& link, const Step& step, StepResult result) ABSL_LOCKS_EXCLUDED(mu_);
  void PutBack(const Step& step, Verdict verdict, StepResult result, Time now, Outcome& outcome)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Delay(const Step& step, Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Finish(const Step& step, StepResult result, Outcome& outcome) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Finish(const Step& step, absl::Status status, Outcome& outcome) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Wake() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // The thread and the connections it tends: client_tend.cc.
  void Run() ABSL_LOCKS_EXCLUDED(mu_);
  void Tend(Time now, Outcome& outcome) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void TendAttempt(Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Connect(Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Open(Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // A link takes no further steps.
  void Retire(std::shared_ptr<Link>& link, const absl::Status& why, Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void QueueDelayed(Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void ExpireDeadlines(Time now, Outcome& outcome) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void ExpireWaiting(Time now, Outcome& outcome) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Reap(Outcome& outcome) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Time NextWake() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CancelOnLinks(uint64_t step_id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Constant after construction.
  const ClientOptions options_;
  std::thread thread_;

  mutable Mutex mu_;
  CondVar wake_;     // the thread
  CondVar changed_;  // who waits for the model
  bool woken_ ABSL_GUARDED_BY(mu_) = false;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;

  std::map<uint64_t, Step> steps_ ABSL_GUARDED_BY(mu_);  // by step_id, which is the order of submission
  std::set<uint64_t> queued_ ABSL_GUARDED_BY(mu_);
  std::set<std::pair<Time, uint64_t>> delayed_ ABSL_GUARDED_BY(mu_);
  Outcome refused_ ABSL_GUARDED_BY(mu_);  // left to the thread to settle
  std::set<std::pair<Time, uint64_t>> deadlines_ ABSL_GUARDED_BY(mu_);
  uint64_t request_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t last_step_id_ ABSL_GUARDED_BY(mu_) = 0;

  std::shared_ptr<Link> attempt_ ABSL_GUARDED_BY(mu_);  // null while current_ is not
  std::shared_ptr<Link> current_ ABSL_GUARDED_BY(mu_);
  std::vector<std::shared_ptr<Link>> retired_ ABSL_GUARDED_BY(mu_);
  Time attempt_until_ ABSL_GUARDED_BY(mu_);
  Time next_attempt_ ABSL_GUARDED_BY(mu_);
  Addresses addresses_ ABSL_GUARDED_BY(mu_);
  Backoff backoff_ ABSL_GUARDED_BY(mu_);
  std::optional<v1::Model> model_ ABSL_GUARDED_BY(mu_);  // of the first server
  std::string model_digest_ ABSL_GUARDED_BY(mu_);        // later servers must have it
  absl::Status failure_ ABSL_GUARDED_BY(mu_);            // the last one
};

}  // namespace engram

#endif  // ENGRAM_CLIENT_CLIENT_CORE_H_
