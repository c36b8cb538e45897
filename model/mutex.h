// A mutex and a condition variable that both clang's thread-safety analysis and ThreadSanitizer understand.
//
// std::mutex carries no annotations, and the packaged absl::Mutex is not built for ThreadSanitizer, which then reports
// races on everything it guards. These wrap the standard ones.

#ifndef ENGRAM_MODEL_MUTEX_H_
#define ENGRAM_MODEL_MUTEX_H_

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"

namespace engram {

class ABSL_LOCKABLE Mutex {
 public:
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  // False when somebody has it.
  bool TryLock() ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true) { return mutex_.try_lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(mutex) { mutex_.Lock(); }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mutex_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

class CondVar {
 public:
  void NotifyOne() { variable_.notify_one(); }
  void NotifyAll() { variable_.notify_all(); }

  // Waits until notified or for `wait` at most, by the steady clock: a step of the wall clock neither stretches nor
  // cuts it. May also return for no reason, so callers loop on their condition.
  void WaitFor(Mutex& mutex, absl::Duration wait) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    variable_.wait_for(lock, absl::ToChronoNanoseconds(std::min(wait, absl::Hours(1))));
    lock.release();
  }

  // False once the point in time has passed. May also return true for no reason.
  bool WaitUntil(Mutex& mutex, std::chrono::steady_clock::time_point time) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    const bool in_time = variable_.wait_until(lock, time) == std::cv_status::no_timeout;
    lock.release();
    return in_time;
  }

 private:
  std::condition_variable variable_;
};

}  // namespace engram

#endif  // ENGRAM_MODEL_MUTEX_H_
