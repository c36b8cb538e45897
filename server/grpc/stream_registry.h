// The calls of Stream that are open.

#ifndef ENGRAM_SERVER_GRPC_STREAM_REGISTRY_H_
#define ENGRAM_SERVER_GRPC_STREAM_REGISTRY_H_

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "model/mutex.h"

namespace engram {

class StreamReactor;

// Owns the reactors between Add and Remove. Thread-safe.
class StreamRegistry {
 public:
  explicit StreamRegistry(uint32_t streams_max) : streams_max_(streams_max) {}

  // RESOURCE_EXHAUSTED naming streams_max, or the status given to Close.
  absl::Status Add(std::shared_ptr<StreamReactor> reactor);
  void Remove(const StreamReactor* reactor);
  void Close(absl::Status why);

  std::vector<std::shared_ptr<StreamReactor>> All();
  // False when streams are still open after `wait`.
  bool WaitEmpty(absl::Duration wait);

 private:
  const uint32_t streams_max_;
  Mutex mu_;
  CondVar emptied_;
  absl::Status closed_ ABSL_GUARDED_BY(mu_);
  std::unordered_map<const StreamReactor*, std::shared_ptr<StreamReactor>> reactors_ ABSL_GUARDED_BY(mu_);
};

}  // namespace engram

#endif  // ENGRAM_SERVER_GRPC_STREAM_REGISTRY_H_
