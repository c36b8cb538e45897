#include "shard/gpu/round_buffers.h"

#include <algorithm>

#include "shard/gpu/kernels.h"

namespace engram {
namespace {

constexpr uint64_t kWordBytes = sizeof(uint64_t);

uint64_t ToWholeWords(uint64_t bytes) { return (bytes + kWordBytes - 1) / kWordBytes * kWordBytes; }

}  // namespace

RoundBytes RoundSizes::Sum() const {
  return {layers + entries + received + requests + runs + kSlots * (rows + sums),
          requests + runs + kSlots * (entries + small_rows)};
}

RoundSizes RoundSizesOf(CombineMode mode, const Geometry& geometry, uint64_t rows_max, int ranks) {
  const uint64_t row_bytes = geometry.bf16_row_bytes();  // the longer ones
  const uint64_t packed_bytes = rows_max * geometry.packed_row_bytes();
  RoundSizes sizes;
  sizes.layers = geometry.layers() * sizeof(DeviceRows);
  sizes.entries = rows_max * sizeof(uint64_t);
  sizes.rows = rows_max * row_bytes;
  sizes.small_rows = std::min(rows_max, kSmallRows) * row_bytes;
  if (ranks > 1 && mode == CombineMode::kAllReducePacked) sizes.sums = ToWholeWords(packed_bytes);
  if (ranks > 1 && mode == CombineMode::kOwnerGather) {
    sizes.received = packed_bytes;
    sizes.requests = rows_max * sizeof(uint32_t);
    sizes.runs = rows_max * sizeof(PlaceBlock);
  }
  return sizes;
}

RoundBytes RoundBytesOf(CombineMode mode, const Geometry& geometry, uint64_t rows_max, int ranks) {
  return RoundSizesOf(mode, geometry, rows_max, ranks).Sum();
}

absl::StatusOr<RoundBuffers> RoundBuffers::Allocate(const RoundSizes& sizes, int device) {
  RoundBuffers buffers;
  absl::Status status;
  const auto on_device = [&](DeviceBuffer& buffer, uint64_t bytes, std::string_view purpose) {
    if (!status.ok()) return;
    absl::StatusOr<DeviceBuffer> allocated = DeviceBuffer::Allocate(device, bytes, purpose);
    status = allocated.status();
    if (status.ok()) buffer = *std::move(allocated);
  };
  const auto pinned = [&](PinnedBuffer& buffer, uint64_t bytes, std::string_view purpose) {
    if (!status.ok()) return;
    absl::StatusOr<PinnedBuffer> allocated = PinnedBuffer::Allocate(device, bytes, purpose);
    status = allocated.status();
    if (status.ok()) buffer = *std::move(allocated);
  };
  on_device(buffers.layers, sizes.layers, "addresses of the tables");
  on_device(buffers.entries, sizes.entries, "ids of round_rows_max rows");
  on_device(buffers.received, sizes.received, "round_rows_max rows of all ranks");
  on_device(buffers.requests, sizes.requests, "places of round_rows_max rows");
  on_device(buffers.runs, sizes.runs, "runs of round_rows_max rows");
  pinned(buffers.host_requests, sizes.requests, "places of round_rows_max rows");
  pinned(buffers.host_runs, sizes.runs, "runs of round_rows_max rows");
  for (size_t slot = 0; slot < kSlots; ++slot) {
    on_device(buffers.rows[slot], sizes.rows, "round_rows_max rows");
    on_device(buffers.sums[slot], sizes.sums, "sums of round_rows_max rows");
    pinned(buffers.host_entries[slot], sizes.entries, "ids of round_rows_max rows");
    pinned(buffers.host_small_rows[slot], sizes.small_rows, "rows of a small round");
  }
  if (!status.ok()) return status;
  return buffers;
}

}  // namespace engram
