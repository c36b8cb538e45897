// What ranks of one node say to each other without MPI: a bell each, which wakes from the sleep between rounds, and a
// box for each pair, for messages so small that their way through MPI is all they cost.

#ifndef ENGRAM_SHARD_NODE_CHANNELS_H_
#define ENGRAM_SHARD_NODE_CHANNELS_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shard/mpi_check.h"

namespace engram {

// One a rank; engine thread. A box holds one message, so that the messages of a pair arrive in order.
class NodeChannels {
 public:
  static constexpr size_t kMessageBytesMax = 1008;

  // Collective over `world`, unbounded. Null when this node's ranks cannot share memory.
  static absl::StatusOr<std::unique_ptr<NodeChannels>> Create(MPI_Comm world);

  // Collective among the ranks of the node, before MPI_Finalize. Without it the memory is left to the end of the
  // process.
  void Free();

  // Whether `rank` of the world is another rank of this node.
  bool Reaches(int rank) const { return peers_[static_cast<size_t>(rank)].bell != nullptr; }
  bool ReachesAll() const { return reaches_all_; }

  // At most kMessageBytesMax bytes to a rank that we reach. False, and nothing done, while it has not taken the message
  // before.
  bool TrySend(int to, int tag, absl::Span<const std::byte> bytes);

  // The message of `from` that waits; its bytes are good until Take, which makes room for the next one.
  struct Message {
    int tag = 0;
    absl::Span<const std::byte> bytes;
  };
  bool Peek(int from, Message& message) const;
  void Take(int from);

  void Ring(int rank);

  // How often ours was rung.
  uint32_t Rings() const { return own_->load(std::memory_order_acquire); }
  // Sleeps until Rings() is no longer `seen`, for at most `limit`. Returns early without cause too.
  void Sleep(uint32_t seen, std::chrono::nanoseconds limit) const;

 private:
  using Word = std::atomic<uint32_t>;
  static_assert(Word::is_always_lock_free && sizeof(Word) == sizeof(uint32_t));

  struct alignas(64) Bell {
    Word rings{0};
  };
  // The writer counts what it wrote, the reader what it took: equal when the box is empty.
  struct alignas(64) Box {
    Word written{0};
    Word taken{0};
    int32_t tag = 0;
    uint32_t size = 0;
    std::byte bytes[kMessageBytesMax];
  };
  static_assert(sizeof(Box) == 1024);

  struct Peer {
    Word* bell = nullptr;  // null: of another node, or ourselves
    Box* in = nullptr;     // what it tells us
    Box* out = nullptr;    // what we tell it
  };

  NodeChannels() = default;
  // A segment a rank: its bell, then a box for each rank of the node.
  absl::Status Allocate(MPI_Comm node, bool& shared);
  absl::Status FindPeers(MPI_Comm world, MPI_Comm node);

  MPI_Win window_ = MPI_WIN_NULL;
  Word* own_ = nullptr;
  std::vector<Peer> peers_;  // [ranks of the world]
  bool reaches_all_ = false;
};

}  // namespace engram

#endif  // ENGRAM_SHARD_NODE_CHANNELS_H_
