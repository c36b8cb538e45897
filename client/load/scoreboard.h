// Where the streams of a run count, and the run looks.

#ifndef ENGRAM_CLIENT_LOAD_SCOREBOARD_H_
#define ENGRAM_CLIENT_LOAD_SCOREBOARD_H_

#include <utility>

#include "absl/base/thread_annotations.h"
#include "client/load/tally.h"
#include "model/mutex.h"

namespace engram {

// Thread-safe.
class Scoreboard {
 public:
  // Steps that finished before `measured_from` (in the warm-up) count for the interval only. By the end, not by the
  // intended start: of a rate that the server cannot keep, those that were intended late are never finished.
  explicit Scoreboard(LoadTime measured_from) : measured_from_(measured_from) {}

  void Add(const StepOutcome& outcome) ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(mu_);
    interval_.Add(outcome);
    if (outcome.finished >= measured_from_) total_.Add(outcome);
  }
  // Intended starts that were dropped by `now`.
  void AddDropped(uint64_t starts, LoadTime now) ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(mu_);
    interval_.starts_dropped += starts;
    if (now >= measured_from_) total_.starts_dropped += starts;
  }

  // Since the last call.
  LoadTally TakeInterval() ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(mu_);
    return std::exchange(interval_, LoadTally());
  }
  LoadTally Total() const ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(mu_);
    return total_;
  }

 private:
  const LoadTime measured_from_;
  mutable Mutex mu_;
  LoadTally interval_ ABSL_GUARDED_BY(mu_);
  LoadTally total_ ABSL_GUARDED_BY(mu_);
};

}  // namespace engram

#endif  // ENGRAM_CLIENT_LOAD_SCOREBOARD_H_
