// A job whose ranks are processes that an MPI launcher started.

#ifndef ENGRAM_SHARD_MPI_JOB_H_
#define ENGRAM_SHARD_MPI_JOB_H_

#include <memory>
#include <utility>

#include "shard/engine.h"
#include "shard/mpi_runtime.h"

namespace engram {

class MpiJob : public Job {
 public:
  static absl::StatusOr<std::unique_ptr<Job>> Join(const MpiOptions& options);
  // Leaves MPI in order when all ranks did the same (stopped, or agreed that they cannot serve); otherwise just leaves,
  // and the launcher ends the others.
  ~MpiJob() override;

  int rank() const override { return runtime_->collective().rank(); }
  int ranks() const override { return runtime_->collective().ranks(); }
  absl::StatusOr<std::unique_ptr<Engine>> Start(const Checkpoint& checkpoint, const EngineOptions& options) override;
  absl::Status Serve(const Checkpoint& checkpoint, const EngineOptions& options) override;
  [[noreturn]] void Abort(int exit_code) override { MpiRuntime::Abort(exit_code); }

 private:
  explicit MpiJob(std::unique_ptr<MpiRuntime> runtime) : runtime_(std::move(runtime)) {}

  const std::unique_ptr<MpiRuntime> runtime_;
  bool in_order_ = false;  // all ranks know that the job is over
};

}  // namespace engram

#endif  // ENGRAM_SHARD_MPI_JOB_H_
