// The last leg of a round: its rows from the device to the blocks' `out`, while the next round gathers.

#ifndef ENGRAM_SHARD_GPU_COPY_OUT_H_
#define ENGRAM_SHARD_GPU_COPY_OUT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "shard/gpu/device_memory.h"
#include "shard/gpu/round_buffers.h"

namespace engram {

// A round takes a slot and goes through Open, Add, one of the two Starts, a wait for done(slot), and Finish.
//
// Small rounds: one copy into pinned memory, from where Finish spreads the rows. Large ones: copies of their own, each
// as long as the rows lie together on both sides, on a stream of its own. `out` is host memory, pinned or not. Movable,
// used by one thread.
class CopyOut {
 public:
  // `buffers` (host_small_rows) must outlive it.
  static absl::StatusOr<CopyOut> Make(int device, const RoundBuffers& buffers);

  void Open(int slot);
  // The next rows: `from` on the device goes to `to` on the host.
  void Add(const std::byte* from, std::byte* to, uint64_t bytes);

  // At most kSmallRows rows, which `compute` has made when it comes to what is put on it now. `staged`: they are in
  // host_small_rows then.
  absl::Status StartSmall(const Stream& compute, bool staged);

  // Whether the large round opened last goes to memory that is not pinned: StartLarge waits for the copies then.
  absl::StatusOr<bool> HasPageable() const;
  // `ready`: recorded behind the rows. It must be reached already where HasPageable, so that the wait is not one for
  // other ranks.
  absl::Status StartLarge(const Event& ready);

  // Reached when Finish may be called.
  const Event& done(int slot) const { return rounds_[static_cast<size_t>(slot)].done; }
  void Finish(int slot);

 private:
  struct Piece {
    const std::byte* from;
    std::byte* to;
    uint64_t bytes;
  };

  struct Round {
    std::byte* staging = nullptr;
    Event done;
    bool small = false;
    std::vector<Piece> pieces;
  };

  CopyOut() = default;
  Round& open() { return rounds_[open_]; }
  absl::Status CopyToStaging(const Stream& compute);

  Stream stream_;
  std::array<Round, kSlots> rounds_;
  size_t open_ = 0;
};

}  // namespace engram

#endif  // ENGRAM_SHARD_GPU_COPY_OUT_H_
