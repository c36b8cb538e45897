#include "shard/mpi_job.h"

#include "model/files/errors.h"
#include "shard/front_engine.h"
#include "shard/loaded_rank.h"
#include "shard/worker.h"

namespace engram {
namespace {

absl::StatusOr<LoadedRank> LoadHere(Collective& collective, const Checkpoint& checkpoint,
                                    const EngineOptions& options) {
  LoadMeter meter(Shard::BytesOf(checkpoint.geometry, collective.rank(), collective.ranks()), options.progress,
                  DeadlineAfter(options.load_timeout), options.note);
  return LoadRank(collective, checkpoint, options, meter);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Job>> MpiJob::Join(const MpiOptions& options) {
  ENGRAM_ASSIGN_OR_RETURN(std::unique_ptr<MpiRuntime> runtime, MpiRuntime::Join(options));
  return std::unique_ptr<Job>(new MpiJob(std::move(runtime)));
}

MpiJob::~MpiJob() {
  if (in_order_) runtime_->Finish();
}

absl::StatusOr<std::unique_ptr<Engine>> MpiJob::Start(const Checkpoint& checkpoint, const EngineOptions& options) {
  if (rank() != 0)
    return absl::FailedPreconditionError(absl::StrCat("Start on rank ", rank(), ": only rank 0 is front end"));
  absl::StatusOr<LoadedRank> loaded = LoadHere(runtime_->collective(), checkpoint, options);
  // A refusal that all ranks heard is an orderly end; a rank that said nothing is not.
  in_order_ = !loaded.ok() && !absl::IsUnavailable(loaded.status());
  if (!loaded.ok()) return loaded.status();
  return std::make_unique<FrontEngine>(runtime_->collective(), *std::move(loaded), options,
                                       [this] { in_order_ = true; });
}

absl::Status MpiJob::Serve(const Checkpoint& checkpoint, const EngineOptions& options) {
  if (rank() == 0) return absl::FailedPreconditionError("Serve on rank 0: the front end calls Start");
  absl::StatusOr<LoadedRank> loaded = LoadHere(runtime_->collective(), checkpoint, options);
  in_order_ = !loaded.ok() && !absl::IsUnavailable(loaded.status());
  if (!loaded.ok()) return loaded.status();
  const absl::Status status = AnswerRounds(runtime_->collective(), *loaded->combine, options);
  in_order_ = status.ok();
  return status;
}

}  // namespace engram
