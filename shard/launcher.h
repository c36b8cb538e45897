// Was this process started by an MPI launcher?

#ifndef ENGRAM_SHARD_LAUNCHER_H_
#define ENGRAM_SHARD_LAUNCHER_H_

#include <optional>

namespace engram {

// The ranks that mpirun, srun or another PMI launcher started, 0 where it tells a rank but not their number; nothing
// without a launcher. From the environment (OMPI_COMM_WORLD_SIZE, PMI_SIZE, PMIX_RANK).
std::optional<int> LaunchedRanks();

}  // namespace engram

#endif  // ENGRAM_SHARD_LAUNCHER_H_
