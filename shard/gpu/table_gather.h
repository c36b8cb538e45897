// Rows of one table that a GPU reads, brought to host memory: for whoever has no combine on the GPU.

#ifndef ENGRAM_SHARD_GPU_TABLE_GATHER_H_
#define ENGRAM_SHARD_GPU_TABLE_GATHER_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shard/engine.h"
#include "shard/gpu/device_memory.h"
#include "shard/gpu/device_rows.h"

namespace engram {

// A stream and staging for one chunk of rows. Used by one thread at a time, with `device` current.
class TableGather {
 public:
  // `table`: must stay where it is on the device while this lives. RESOURCE_EXHAUSTED without memory for the staging.
  static absl::StatusOr<TableGather> Prepare(const DeviceRows& table, uint32_t head_dim, int device);

  // As Table::Gather. UNAVAILABLE when the device does not answer in time.
  absl::Status Gather(RowForm form, absl::Span<const uint64_t> rows, absl::Span<const uint32_t> slots, std::byte* out);

 private:
  TableGather(uint32_t head_dim, Stream stream) : head_dim_(head_dim), stream_(std::move(stream)) {}

  absl::Status Allocate(uint64_t chunk_rows);
  absl::Status PutTable(const DeviceRows& table);
  // At most chunk_rows() of them to the front of rows_.
  absl::Status GatherChunk(RowForm form, absl::Span<const uint64_t> rows);
  absl::Status Await() const;
  uint64_t chunk_rows() const { return entries_.size() / sizeof(uint64_t); }
  size_t RowWidth(RowForm form) const;

  uint32_t head_dim_;
  Stream stream_;
  DeviceBuffer device_table_;    // the one DeviceRows
  DeviceBuffer device_entries_;  // [chunk_rows]
  DeviceBuffer device_rows_;     // [chunk_rows] in either form
  PinnedBuffer entries_;
  PinnedBuffer rows_;
};

}  // namespace engram

#endif  // ENGRAM_SHARD_GPU_TABLE_GATHER_H_
