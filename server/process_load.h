// How far loading is: for the log and for clients that ask too early.

#ifndef ENGRAM_SERVER_PROCESS_LOAD_H_
#define ENGRAM_SERVER_PROCESS_LOAD_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "model/mutex.h"
#include "shard/engine.h"

namespace engram {

// "loading: 12.0 of 94.4 GiB (12 %), 2.1 GiB/s, 39 s left". Without a rate when `seconds` is 0.
std::string LoadLine(const LoadProgress& progress, double seconds);

// Logs progress every two seconds at most. Thread-safe.
class LoadLog {
 public:
  // Returns the percentage done.
  int Note(const LoadProgress& progress);

 private:
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start_ = Clock::now();
  Mutex mu_;
  Clock::time_point next_ ABSL_GUARDED_BY(mu_) = start_ + std::chrono::seconds(2);
};

}  // namespace engram

#endif  // ENGRAM_SERVER_PROCESS_LOAD_H_
