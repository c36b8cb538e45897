// The calls of Stream that are open.

#ifndef ENGRAM_SERVER_STREAM_REGISTRY_H_
#define ENGRAM_SERVER_STREAM_REGISTRY_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "model/mutex.h"

namespace engram {

class StreamCall;

// Owns the calls between Add and Remove. Thread-safe.
class StreamRegistry {
 public:
  explicit StreamRegistry(uint32_t streams_max, absl::Duration hello_timeout = absl::InfiniteDuration())
      : streams_max_(streams_max), hello_timeout_(hello_timeout) {}

  // RESOURCE_EXHAUSTED naming streams_max, or the status given to Close. Where streams_max are open, the one that has
  // waited for its Hello longest is ended to make room, if that was for hello_timeout.
  absl::Status Add(std::shared_ptr<StreamCall> call);
  // It keeps its place now.
  void SaidHello(const StreamCall* call);
  void Remove(const StreamCall* call);
  void Close(absl::Status why);

  // Close with UNAVAILABLE, and Drain told to every stream. Those whose client half-closes end with OK as soon as their
  // admitted steps are answered, the rest after a moment's grace with UNAVAILABLE. Blocks until no stream is open or
  // for `timeout`; false when some are left. The caller has closed the gate.
  bool Drain(const std::string& why, absl::Duration timeout);
  // False when streams are still open after `wait`.
  bool WaitEmpty(absl::Duration wait);

  size_t streams();
  // Of all streams: memory of answers besides rows.
  uint64_t answer_bytes();

 private:
  using Clock = std::chrono::steady_clock;
  // Opened, and without a Hello so far; oldest first.
  struct Silent {
    StreamCall* call;
    Clock::time_point since;
  };
  struct Open {
    std::shared_ptr<StreamCall> call;
    std::optional<std::list<Silent>::iterator> silent;
    bool leaving = false;  // ended by us and counted no more
  };

  // The stream that gives way, or null.
  std::shared_ptr<StreamCall> MakeRoom() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void NotSilent(Open& open) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::vector<std::shared_ptr<StreamCall>> All();

  const uint32_t streams_max_;
  const absl::Duration hello_timeout_;
  Mutex mu_;
  CondVar emptied_;
  absl::Status closed_ ABSL_GUARDED_BY(mu_);
  std::unordered_map<const StreamCall*, Open> calls_ ABSL_GUARDED_BY(mu_);
  std::list<Silent> silent_ ABSL_GUARDED_BY(mu_);
  size_t leaving_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace engram

#endif  // ENGRAM_SERVER_STREAM_REGISTRY_H_
