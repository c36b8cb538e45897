#include "shard/shared_window.h"

#include <sys/mman.h>
#include <unistd.h>

#include <vector>

namespace engram {
namespace {

// Every page, now: a /dev/shm that is full would end the process when one is first touched.
bool Populate(std::byte* data, uint64_t bytes) {
#ifdef MADV_POPULATE_WRITE
  const uint64_t before = reinterpret_cast<uintptr_t>(data) % static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return madvise(data - before, bytes + before, MADV_POPULATE_WRITE) == 0;
#else
  return false;
#endif
}

// This node's part: the memory as this rank sees it, null where the node of rank 0 has none.
absl::Status AllocateOnNode(MPI_Comm node, bool owner, uint64_t bytes, std::byte*& data) {
  MPI_Win window = MPI_WIN_NULL;
  void* own = nullptr;
  const auto size = static_cast<MPI_Aint>(owner ? bytes : 0);
  int good = MPI_Win_allocate_shared(size, 1, MPI_INFO_NULL, node, &own, &window) == MPI_SUCCESS ? 1 : 0;
  if (good == 1 && owner) good = Populate(static_cast<std::byte*>(own), bytes) ? 1 : 0;
  ENGRAM_RETURN_IF_MPI_ERROR(MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, node));
  if (good == 0) return absl::OkStatus();
  MPI_Aint seen_bytes = 0;
  int unit = 0;
  void* seen = nullptr;
  ENGRAM_RETURN_IF_MPI_ERROR(MPI_Win_shared_query(window, 0, &seen_bytes, &unit, &seen));
  data = static_cast<std::byte*>(seen);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SharedMemory> ShareMemoryOfFirstRank(MPI_Comm world, uint64_t bytes) {
  int rank = 0;
  int ranks = 0;
  ENGRAM_RETURN_IF_MPI_ERROR(MPI_Comm_rank(world, &rank));
  ENGRAM_RETURN_IF_MPI_ERROR(MPI_Comm_size(world, &ranks));
  ENGRAM_RETURN_IF_MPI_ERROR(MPI_Bcast(&bytes, 1, MPI_UINT64_T, 0, world));
  MPI_Comm node = MPI_COMM_NULL;
  ENGRAM_RETURN_IF_MPI_ERROR(MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node));
  ENGRAM_RETURN_IF_MPI_ERROR(MPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN));
  // Ranks of a node are in the order of the world: rank 0 is the first of its own.
  int first = rank;
  ENGRAM_RETURN_IF_MPI_ERROR(MPI_Bcast(&first, 1, MPI_INT, 0, node));
  std::byte* data = nullptr;
  int node_ranks = 1;
  ENGRAM_RETURN_IF_MPI_ERROR(MPI_Comm_size(node, &node_ranks));
  const bool has_peers = first == 0 && node_ranks > 1;
  if (has_peers) ENGRAM_RETURN_IF_ERROR(AllocateOnNode(node, rank == 0, bytes, data));
  MPI_Comm_free(&node);
  const char sees = data == nullptr ? 0 : 1;
  std::vector<char> seen(static_cast<size_t>(ranks));
  ENGRAM_RETURN_IF_MPI_ERROR(MPI_Gather(&sees, 1, MPI_CHAR, seen.data(), 1, MPI_CHAR, 0, world));
  SharedMemory memory;
  if (data == nullptr) return memory;
  memory.bytes = {data, bytes};
  if (rank == 0) memory.seen_by.assign(seen.begin(), seen.end());
  return memory;
}

}  // namespace engram
