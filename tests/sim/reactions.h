// Runs the events of streams, as gRPC's threads do: on several threads after a delay, or one by one when told to.

#ifndef ENGRAM_TESTS_SIM_REACTIONS_H_
#define ENGRAM_TESTS_SIM_REACTIONS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "model/mutex.h"

namespace engram {

// Thread-safe. Destruction runs what is left without waiting for its time.
class Reactions {
 public:
  // Without threads nothing runs but in RunAll.
  explicit Reactions(int threads) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
  }

  ~Reactions() {
    {
      MutexLock lock(mu_);
      ending_ = true;
    }
    changed_.NotifyAll();
    for (std::thread& thread : threads_) thread.join();
    RunAll();
  }

  void Post(absl::Duration delay, std::function<void()> event) {
    {
      MutexLock lock(mu_);
      events_.emplace(std::pair(Clock::now() + absl::ToChronoNanoseconds(delay), ++posted_), std::move(event));
    }
    changed_.NotifyOne();
  }

  // Everything there is, and what comes of it, whatever its delay.
  void RunAll() {
    while (std::function<void()> event = Next(false)) event();
  }

 private:
  using Clock = std::chrono::steady_clock;

  void Run() {
    while (std::function<void()> event = Next(true)) event();
  }

  // The first event; with `wait` once it is due. Empty when there is none, or at the end.
  std::function<void()> Next(bool wait) {
    MutexLock lock(mu_);
    while (wait && !ending_) {
      if (events_.empty()) {
        changed_.WaitFor(mu_, absl::Seconds(1));
      } else if (events_.begin()->first.first > Clock::now()) {
        changed_.WaitUntil(mu_, events_.begin()->first.first);
      } else {
        break;
      }
    }
    if (events_.empty()) return nullptr;
    std::function<void()> event = std::move(events_.begin()->second);
    events_.erase(events_.begin());
    return event;
  }

  Mutex mu_;
  CondVar changed_;
  std::map<std::pair<Clock::time_point, uint64_t>, std::function<void()>> events_ ABSL_GUARDED_BY(mu_);
  uint64_t posted_ ABSL_GUARDED_BY(mu_) = 0;
  bool ending_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace engram

#endif  // ENGRAM_TESTS_SIM_REACTIONS_H_
