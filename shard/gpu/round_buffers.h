// The memory of a rank's rounds: ids on their way in, rows on their way out.

#ifndef ENGRAM_SHARD_GPU_ROUND_BUFFERS_H_
#define ENGRAM_SHARD_GPU_ROUND_BUFFERS_H_

#include <array>
#include <cstdint>

#include "absl/status/statusor.h"
#include "model/geometry.h"
#include "shard/engine.h"
#include "shard/gpu/device_memory.h"
#include "shard/gpu/memory_plan.h"

namespace engram {

// Rounds in flight, one after the other, take turns with what a copy to the host may still read.
inline constexpr int kSlots = kRoundsInFlightMax;

// Rounds up to so many rows are small: what counts is how soon they are answered. Larger ones are copied straight to
// where they are wanted.
inline constexpr uint64_t kSmallRows = 1024;

// Bytes of each buffer; 0 where the mode needs none.
struct RoundSizes {
  // On the device.
  uint64_t layers = 0;    // DeviceRows of each layer
  uint64_t entries = 0;   // of one round
  uint64_t rows = 0;      // in the forms asked, request order; each slot
  uint64_t sums = 0;      // ALL_REDUCE_PACKED: packed rows, up to whole 64-bit words; each slot
  uint64_t received = 0;  // OWNER_GATHER: packed rows, sorted by owner
  // On the device and, pinned, on the host. OWNER_GATHER: where the received rows go.
  uint64_t requests = 0;
  uint64_t runs = 0;
  // Pinned.
  uint64_t small_rows = 0;  // as `rows`, of a small round; each slot

  RoundBytes Sum() const;
};

// Of a rank among `ranks`, each of which can ask and answer.
RoundSizes RoundSizesOf(CombineMode mode, const Geometry& geometry, uint64_t rows_max, int ranks);

// What RoundBuffers::Allocate takes.
RoundBytes RoundBytesOf(CombineMode mode, const Geometry& geometry, uint64_t rows_max, int ranks);

struct RoundBuffers {
  // RESOURCE_EXHAUSTED naming the buffer and its size.
  static absl::StatusOr<RoundBuffers> Allocate(const RoundSizes& sizes, int device);

  DeviceBuffer layers;
  DeviceBuffer entries;
  std::array<DeviceBuffer, kSlots> rows;
  std::array<DeviceBuffer, kSlots> sums;
  DeviceBuffer received;
  DeviceBuffer requests;
  DeviceBuffer runs;

  std::array<PinnedBuffer, kSlots> host_entries;
  std::array<PinnedBuffer, kSlots> host_small_rows;
  PinnedBuffer host_requests;
  PinnedBuffer host_runs;
};

}  // namespace engram

#endif  // ENGRAM_SHARD_GPU_ROUND_BUFFERS_H_
