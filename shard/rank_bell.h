// Wakes ranks of the same node that sleep between rounds: a futex word for each in memory they share.

#ifndef ENGRAM_SHARD_RANK_BELL_H_
#define ENGRAM_SHARD_RANK_BELL_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "shard/mpi_check.h"

namespace engram {

// A hint only: what is said travels as an MPI message, sent before the ring. One a rank; engine thread.
class RankBell {
 public:
  // Collective over `world`, unbounded. Null when this node's ranks cannot share memory.
  static absl::StatusOr<std::unique_ptr<RankBell>> Create(MPI_Comm world);

  // Collective among the ranks of the node, before MPI_Finalize. Without it the memory is left to the end of the
  // process.
  void Free();

  // Whether `rank` of the world is on this node.
  bool Reaches(int rank) const { return bells_[static_cast<size_t>(rank)] != nullptr; }

  void Ring(int rank);

  // How often ours was rung.
  uint32_t Rings() const { return own_->load(std::memory_order_acquire); }
  // Sleeps until Rings() is no longer `seen`, for at most `limit`. Returns early without cause too.
  void Sleep(uint32_t seen, std::chrono::nanoseconds limit) const;

 private:
  using Bell = std::atomic<uint32_t>;
  static_assert(Bell::is_always_lock_free && sizeof(Bell) == sizeof(uint32_t));

  RankBell() = default;
  absl::Status Allocate(MPI_Comm node, bool& shared);
  absl::Status FindBells(MPI_Comm world, MPI_Comm node);

  MPI_Win window_ = MPI_WIN_NULL;
  Bell* own_ = nullptr;
  std::vector<Bell*> bells_;  // [ranks of the world]; null on other nodes
};

}  // namespace engram

#endif  // ENGRAM_SHARD_RANK_BELL_H_
