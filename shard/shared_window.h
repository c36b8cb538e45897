// Memory of one rank that the ranks of its node see too, over MPI. Private to the MPI files of shard/.

#ifndef ENGRAM_SHARD_SHARED_WINDOW_H_
#define ENGRAM_SHARD_SHARED_WINDOW_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "shard/collective.h"
#include "shard/mpi_check.h"

namespace engram {

// Collective over `world`, unbounded: `bytes` of rank 0's. No memory, and no error, where there is not so much of it.
// It stays until the process ends: replies may be on their way out of it when MPI is left.
absl::StatusOr<SharedMemory> ShareMemoryOfFirstRank(MPI_Comm world, uint64_t bytes);

}  // namespace engram

#endif  // ENGRAM_SHARD_SHARED_WINDOW_H_
