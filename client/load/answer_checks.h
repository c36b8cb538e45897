// Answers on their way to being compared with the files, off the streams' threads.

#ifndef ENGRAM_CLIENT_LOAD_ANSWER_CHECKS_H_
#define ENGRAM_CLIENT_LOAD_ANSWER_CHECKS_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "client/load/load_step.h"
#include "client/load/report.h"
#include "client/step_result.h"
#include "model/mutex.h"

namespace engram {

// Compares the answer to one step, in the run's row format, with what must have come: rows compared. DATA_LOSS naming
// session, position, token, layer and byte for the first difference; else why the files could not be read.
using AnswerCheck = std::function<absl::StatusOr<uint64_t>(const LoadStep& step, const StepResult& result)>;

// Runs a check on a thread of its own, one answer after another. Answers that wait have `bytes_max` of rows at most, or
// are one alone. After the first failure nothing more is checked. Push from any thread.
class AnswerChecks {
 public:
  // `failed` is called once, on that thread, after the first failure.
  AnswerChecks(AnswerCheck check, uint64_t bytes_max, std::function<void()> failed);
  // Checks what waits, then ends.
  ~AnswerChecks();
  AnswerChecks(const AnswerChecks&) = delete;
  AnswerChecks& operator=(const AnswerChecks&) = delete;

  // Waits while there is no room. `where` names the step.
  void Push(std::string where, LoadStep step, StepResult result) ABSL_LOCKS_EXCLUDED(mu_);
  // Waits until nothing waits, and tells what was found.
  CheckedAnswers Finish() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  struct Job {
    std::string where;
    LoadStep step;
    StepResult result;
    uint64_t bytes = 0;
  };

  void Work() ABSL_LOCKS_EXCLUDED(mu_);
  void Enter(const Job& job, const absl::StatusOr<uint64_t>& rows) ABSL_LOCKS_EXCLUDED(mu_);

  const AnswerCheck check_;
  const uint64_t bytes_max_;
  const std::function<void()> failed_;
  Mutex mu_;
  CondVar changed_;
  std::deque<Job> jobs_ ABSL_GUARDED_BY(mu_);  // the first is being checked
  uint64_t bytes_ ABSL_GUARDED_BY(mu_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  CheckedAnswers found_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;
};

}  // namespace engram

#endif  // ENGRAM_CLIENT_LOAD_ANSWER_CHECKS_H_
