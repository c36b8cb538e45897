#include "shard/rank_bell.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>
#include <new>
#include <numeric>

namespace engram {
namespace {

constexpr MPI_Aint kCellBytes = 64;  // a cache line each

// Not FUTEX_PRIVATE_FLAG: the word is shared between processes.
void FutexWait(const void* word, uint32_t seen, std::chrono::nanoseconds limit) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limit);
  timespec time = {};
  time.tv_sec = seconds.count();
  time.tv_nsec = (limit - seconds).count();
  syscall(SYS_futex, word, FUTEX_WAIT, seen, &time, nullptr, 0);
}

}  // namespace

absl::StatusOr<std::unique_ptr<RankBell>> RankBell::Create(MPI_Comm world) {
  int rank = 0;
  ENGRAM_RETURN_IF_MPI_ERROR(MPI_Comm_rank(world, &rank));
  MPI_Comm node = MPI_COMM_NULL;
  ENGRAM_RETURN_IF_MPI_ERROR(MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node));
  ENGRAM_RETURN_IF_MPI_ERROR(MPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN));
  std::unique_ptr<RankBell> bell(new RankBell());
  bool shared = false;
  absl::Status status = bell->Allocate(node, shared);
  if (status.ok() && shared) status = bell->FindBells(world, node);
  MPI_Comm_free(&node);
  if (!status.ok()) return status;
  if (!shared) return std::unique_ptr<RankBell>();
  return bell;
}

absl::Status RankBell::Allocate(MPI_Comm node, bool& shared) {
  void* cell = nullptr;
  int good = MPI_Win_allocate_shared(kCellBytes, 1, MPI_INFO_NULL, node, &cell, &window_) == MPI_SUCCESS ? 1 : 0;
  if (good == 1) own_ = new (cell) Bell(0);
  // All or none; and nobody rings before all bells are hung.
  ENGRAM_RETURN_IF_MPI_ERROR(MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, node));
  shared = good == 1;
  return absl::OkStatus();
}

absl::Status RankBell::FindBells(MPI_Comm world, MPI_Comm node) {
  int world_ranks = 0;
  int node_ranks = 0;
  ENGRAM_RETURN_IF_MPI_ERROR(MPI_Comm_size(world, &world_ranks));
  ENGRAM_RETURN_IF_MPI_ERROR(MPI_Comm_size(node, &node_ranks));
  std::vector<int> ranks_here(static_cast<size_t>(node_ranks));
  std::iota(ranks_here.begin(), ranks_here.end(), 0);
  std::vector<int> ranks_of_world(ranks_here.size());
  MPI_Group world_group;
  MPI_Group node_group;
  ENGRAM_RETURN_IF_MPI_ERROR(MPI_Comm_group(world, &world_group));
  ENGRAM_RETURN_IF_MPI_ERROR(MPI_Comm_group(node, &node_group));
  ENGRAM_RETURN_IF_MPI_ERROR(
      MPI_Group_translate_ranks(node_group, node_ranks, ranks_here.data(), world_group, ranks_of_world.data()));
  MPI_Group_free(&world_group);
  MPI_Group_free(&node_group);
  bells_.assign(static_cast<size_t>(world_ranks), nullptr);
  for (size_t i = 0; i < ranks_here.size(); ++i) {
    MPI_Aint bytes = 0;
    int unit = 0;
    void* cell = nullptr;
    ENGRAM_RETURN_IF_MPI_ERROR(MPI_Win_shared_query(window_, ranks_here[i], &bytes, &unit, &cell));
    bells_[static_cast<size_t>(ranks_of_world[i])] = static_cast<Bell*>(cell);
  }
  return absl::OkStatus();
}

void RankBell::Free() {
  if (window_ != MPI_WIN_NULL) (void)MPI_Win_free(&window_);
}

void RankBell::Ring(int rank) {
  Bell* bell = bells_[static_cast<size_t>(rank)];
  bell->fetch_add(1, std::memory_order_release);
  syscall(SYS_futex, static_cast<void*>(bell), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void RankBell::Sleep(uint32_t seen, std::chrono::nanoseconds limit) const {
  if (limit > std::chrono::nanoseconds::zero()) FutexWait(own_, seen, limit);
}

}  // namespace engram
