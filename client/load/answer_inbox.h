// Answers on their way from the client's threads to the thread of their stream.

#ifndef ENGRAM_CLIENT_LOAD_ANSWER_INBOX_H_
#define ENGRAM_CLIENT_LOAD_ANSWER_INBOX_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "client/load/arrivals.h"
#include "client/step_result.h"
#include "model/mutex.h"

namespace engram {

struct LoadAnswer {
  uint64_t flight = 0;  // which step of the stream
  LoadTime at;
  StepResult result;
};

// Thread-safe. Bounded by the steps under way.
class AnswerInbox {
 public:
  void Put(LoadAnswer answer) ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(mu_);
    answers_.push_back(std::move(answer));
    changed_.NotifyOne();
  }
  // Ends a wait, the present one or the next.
  void Wake() ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(mu_);
    woken_ = true;
    changed_.NotifyOne();
  }
  // All that has come; waits for the first, for Wake, or until `until`.
  std::vector<LoadAnswer> AwaitUntil(LoadTime until) ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(mu_);
    while (answers_.empty() && !woken_ && changed_.WaitUntil(mu_, until)) {
    }
    woken_ = false;
    return std::exchange(answers_, {});
  }

 private:
  Mutex mu_;
  CondVar changed_;
  std::vector<LoadAnswer> answers_ ABSL_GUARDED_BY(mu_);
  bool woken_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace engram

#endif  // ENGRAM_CLIENT_LOAD_ANSWER_INBOX_H_
