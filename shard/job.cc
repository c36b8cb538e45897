#include <optional>

#include "absl/strings/str_cat.h"
#include "shard/engine.h"
#include "shard/in_process_job.h"
#include "shard/launcher.h"
#if ENGRAM_WITH_MPI
#include "shard/mpi_job.h"
#endif

namespace engram {
namespace {

constexpr int kShardsMax = 1024;

#if ENGRAM_WITH_MPI
absl::StatusOr<std::unique_ptr<Job>> JoinLaunched(int /*ranks*/) { return MpiJob::Join(MpiOptions()); }
#else
absl::StatusOr<std::unique_ptr<Job>> JoinLaunched(int ranks) {
  if (ranks == 1) return std::make_unique<InProcessJob>(1);
  return absl::FailedPreconditionError(
      "started by an MPI launcher, but this program was built without MPI (ENGRAM_MPI=OFF)");
}
#endif

}  // namespace

absl::StatusOr<std::unique_ptr<Job>> Job::Join(int shards) {
  const std::optional<int> launched = LaunchedRanks();
  if (launched.has_value() && shards != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("shards is ", shards, ", must be 1 under an MPI launcher: each of its ranks is one shard"));
  }
  if (launched.has_value()) return JoinLaunched(*launched);
  if (shards < 1 || shards > kShardsMax) {
    return absl::InvalidArgumentError(absl::StrCat("shards is ", shards, ", must be in [1, ", kShardsMax, "]"));
  }
  return std::make_unique<InProcessJob>(shards);
}

}  // namespace engram
