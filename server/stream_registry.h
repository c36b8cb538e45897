// The calls of Stream that are open.

#ifndef ENGRAM_SERVER_STREAM_REGISTRY_H_
#define ENGRAM_SERVER_STREAM_REGISTRY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
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
  explicit StreamRegistry(uint32_t streams_max) : streams_max_(streams_max) {}

  // RESOURCE_EXHAUSTED naming streams_max, or the status given to Close.
  absl::Status Add(std::shared_ptr<StreamCall> call);
  void Remove(const StreamCall* call);
  void Close(absl::Status why);

  // Close with UNAVAILABLE, and Drain told to every stream. Those whose client half-closes end with OK as soon as their
  // admitted steps are answered, the rest after a moment's grace with UNAVAILABLE. Blocks until no stream is open or
  // for `timeout`; false when some are left. The caller has closed the gate.
  bool Drain(const std::string& why, absl::Duration timeout);
  // False when streams are still open after `wait`.
  bool WaitEmpty(absl::Duration wait);

  size_t streams();

 private:
  std::vector<std::shared_ptr<StreamCall>> All();

  const uint32_t streams_max_;
  Mutex mu_;
  CondVar emptied_;
  absl::Status closed_ ABSL_GUARDED_BY(mu_);
  std::unordered_map<const StreamCall*, std::shared_ptr<StreamCall>> calls_ ABSL_GUARDED_BY(mu_);
};

}  // namespace engram

#endif  // ENGRAM_SERVER_STREAM_REGISTRY_H_
