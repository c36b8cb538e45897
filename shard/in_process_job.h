// A job whose ranks are threads of this process.

#ifndef ENGRAM_SHARD_IN_PROCESS_JOB_H_
#define ENGRAM_SHARD_IN_PROCESS_JOB_H_

#include <memory>

#include "shard/engine.h"

namespace engram {

// Rank 0 is the caller's thread; Start runs the others on threads of their own, which end with the engine.
class InProcessJob : public Job {
 public:
  explicit InProcessJob(int ranks) : ranks_(ranks) {}

  int rank() const override { return 0; }
  int ranks() const override { return ranks_; }
  absl::StatusOr<std::unique_ptr<Engine>> Start(const Checkpoint& checkpoint, const EngineOptions& options) override;
  absl::Status Serve(const Checkpoint& checkpoint, const EngineOptions& options) override;
  [[noreturn]] void Abort(int exit_code) override;

 private:
  const int ranks_;
};

}  // namespace engram

#endif  // ENGRAM_SHARD_IN_PROCESS_JOB_H_
