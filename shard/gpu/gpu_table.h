// DEVICE and HOST_PINNED: rows that a GPU reads, in its own memory or over the bus in this host's.

#ifndef ENGRAM_SHARD_GPU_GPU_TABLE_H_
#define ENGRAM_SHARD_GPU_GPU_TABLE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "shard/anonymous_memory.h"
#include "shard/gpu/device_memory.h"
#include "shard/gpu/device_rows.h"
#include "shard/gpu/table_gather.h"
#include "shard/load_meter.h"
#include "shard/table.h"
#include "shard/table_source.h"

namespace engram {

// All codes, then all scales (LayoutOf in memory_plan.h).
class GpuTable : public Table {
 public:
  // Rows `range` (not empty) for `device`, placement DEVICE or HOST_PINNED. Beside the rows the host's peak is two
  // blocks of UploadRows for DEVICE and 1/16 of the rows for HOST_PINNED. RESOURCE_EXHAUSTED when the rows do not fit,
  // DATA_LOSS when a file changes meanwhile, UNAVAILABLE when the device does not answer; errors of LoadMeter::Add.
  static absl::StatusOr<std::unique_ptr<Table>> Load(Placement placement, TableSource source, ShardRange range,
                                                     int device, LoadMeter& meter);

  const DeviceRows* device_rows() const override { return &rows_; }

  // For whoever has no combine on the GPU; stream and staging are made at first use. RESOURCE_EXHAUSTED without memory
  // for them, UNAVAILABLE when the device does not answer.
  absl::Status Gather(RowForm form, absl::Span<const uint64_t> rows, absl::Span<const uint32_t> slots,
                      std::byte* out) override;

 private:
  GpuTable(ShardRange range, uint32_t head_dim, int device) : Table(range), head_dim_(head_dim), device_(device) {}

  absl::Status LoadDevice(TableSource source, LoadMeter& meter);
  absl::Status LoadHostPinned(TableSource source, LoadMeter& meter);
  uint64_t rows() const { return range().end - range().begin; }
  void SetRows(const std::byte* begin, uint64_t scales_begin);

  const uint32_t head_dim_;
  const int device_;
  DeviceBuffer memory_;          // DEVICE
  AnonymousMemory host_memory_;  // HOST_PINNED; lives longer than its registration
  PinnedBuffer pinned_;
  DeviceRows rows_;
  std::optional<TableGather> gather_;
};

}  // namespace engram

#endif  // ENGRAM_SHARD_GPU_GPU_TABLE_H_
