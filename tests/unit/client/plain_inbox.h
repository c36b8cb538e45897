// Reads a stream ahead, so that a cancel is seen while the step waits for its turn.

#ifndef ENGRAM_TESTS_UNIT_CLIENT_PLAIN_INBOX_H_
#define ENGRAM_TESTS_UNIT_CLIENT_PLAIN_INBOX_H_

#include <deque>
#include <set>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "model/mutex.h"
#include "tests/unit/client/fake_service.h"

namespace engram {

// Thread-safe by construction: a thread of its own fills it, the stream's takes from it.
class Inbox {
 public:
  explicit Inbox(FakeStream& stream) : reader_([this, &stream] { ReadAll(stream); }) {}
  ~Inbox() { reader_.join(); }

  // False once the client has left.
  bool Next(v1::StepRequest& step, bool& cancelled) {
    MutexLock lock(mu_);
    while (steps_.empty() && !ended_) arrived_.WaitFor(mu_, absl::Seconds(1));
    if (steps_.empty()) return false;
    step = std::move(steps_.front());
    steps_.pop_front();
    cancelled = cancelled_.count(step.step_id()) != 0;
    return true;
  }

 private:
  void ReadAll(FakeStream& stream) {
    v1::ClientMessage message;
    while (stream.Read(&message)) {
      MutexLock lock(mu_);
      if (message.has_step()) steps_.push_back(message.step());
      if (message.has_cancel()) cancelled_.insert(message.cancel().step_id());
      arrived_.NotifyOne();
    }
    MutexLock lock(mu_);
    ended_ = true;
    arrived_.NotifyOne();
  }

  Mutex mu_;
  CondVar arrived_;
  std::deque<v1::StepRequest> steps_ ABSL_GUARDED_BY(mu_);
  std::set<uint64_t> cancelled_ ABSL_GUARDED_BY(mu_);
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  std::thread reader_;  // last: it uses all the others
};

}  // namespace engram

#endif  // ENGRAM_TESTS_UNIT_CLIENT_PLAIN_INBOX_H_
