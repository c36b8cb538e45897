// Wakes the engine thread when there may be work.

#ifndef ENGRAM_SERVER_DOORBELL_H_
#define ENGRAM_SERVER_DOORBELL_H_

#include <atomic>
#include <chrono>

#include "absl/time/time.h"
#include "model/mutex.h"

namespace engram {

// A ring stays until one WaitFor has taken it, so none is lost. Ring from any thread, under any lock (it takes none but
// its own); WaitFor from one thread. It watches for a moment before it sleeps: whoever has just read an answer may ask
// again at once, and to be woken takes longer than that.
class Doorbell {
 public:
  void Ring();
  // True when it was rung since the last WaitFor, false after `wait` without a ring.
  bool WaitFor(absl::Duration wait);

 private:
  using Clock = std::chrono::steady_clock;

  void Watch(Clock::time_point end) const;

  Mutex mu_;
  CondVar rung_changed_;
  std::atomic<bool> rung_{false};  // set under mu_, so that a sleeper misses none
};

}  // namespace engram

#endif  // ENGRAM_SERVER_DOORBELL_H_
