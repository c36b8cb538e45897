// Wakes the engine thread when there may be work.

#ifndef ENGRAM_SERVER_DOORBELL_H_
#define ENGRAM_SERVER_DOORBELL_H_

#include "absl/time/time.h"
#include "model/mutex.h"

namespace engram {

// A ring stays until one WaitFor has taken it, so none is lost. Ring from any thread, under any lock (it takes none but
// its own); WaitFor from one thread.
class Doorbell {
 public:
  void Ring();
  // True when it was rung since the last WaitFor, false after `wait` without a ring.
  bool WaitFor(absl::Duration wait);

 private:
  Mutex mu_;
  CondVar rung_changed_;
  bool rung_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace engram

#endif  // ENGRAM_SERVER_DOORBELL_H_
