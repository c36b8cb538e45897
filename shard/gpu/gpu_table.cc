#include "shard/gpu/gpu_table.h"

#include "model/files/errors.h"
#include "shard/gpu/memory_plan.h"
#include "shard/gpu/table_upload.h"
#include "shard/stream_loader.h"

namespace engram {
namespace {

// For 8 MiB at most, which take a millisecond.
constexpr absl::Duration kCopyTimeout = absl::Minutes(1);

RowPlaces PlacesAt(std::byte* begin, uint64_t scales_begin, uint32_t head_dim) {
  return {begin, head_dim, begin + scales_begin, head_dim / kScaleBlock};
}

}  // namespace

absl::StatusOr<std::unique_ptr<Table>> GpuTable::Load(Placement placement, TableSource source, ShardRange range,
                                                      int device, LoadMeter& meter) {
  ENGRAM_RETURN_IF_ERROR(UseDevice(device));
  std::unique_ptr<GpuTable> table(new GpuTable(range, source.codes.width, device));
  ENGRAM_RETURN_IF_ERROR(placement == Placement::kDevice ? table->LoadDevice(std::move(source), meter)
                                                         : table->LoadHostPinned(std::move(source), meter));
  return table;
}

absl::Status GpuTable::LoadDevice(TableSource source, LoadMeter& meter) {
  const TableLayout layout = LayoutOf(rows(), head_dim_);
  ENGRAM_ASSIGN_OR_RETURN(memory_, DeviceBuffer::Allocate(device_, layout.total(), "placement DEVICE"));
  SetRows(memory_.data(), layout.scales_begin);
  return UploadRows(source, range(), PlacesAt(memory_.data(), layout.scales_begin, head_dim_), device_, meter,
                    kCopyTimeout);
}

// Registered when it is full: then its pages are there, the huge ones too.
absl::Status GpuTable::LoadHostPinned(TableSource source, LoadMeter& meter) {
  const TableLayout layout = LayoutOf(rows(), head_dim_);
  ENGRAM_ASSIGN_OR_RETURN(host_memory_, AnonymousMemory::Allocate(layout.total(), "placement HOST_PINNED"));
  const RowPlaces places = PlacesAt(host_memory_.data(), layout.scales_begin, head_dim_);
  ENGRAM_RETURN_IF_ERROR(LoadRows(source, range(), places, meter));
  ENGRAM_ASSIGN_OR_RETURN(
      pinned_, PinnedBuffer::Register(device_, {host_memory_.data(), host_memory_.size()}, "placement HOST_PINNED"));
  SetRows(pinned_.device_data(), layout.scales_begin);
  return absl::OkStatus();
}

void GpuTable::SetRows(const std::byte* begin, uint64_t scales_begin) {
  const auto* codes = reinterpret_cast<const uint8_t*>(begin);
  rows_ = {codes, codes + scales_begin, range().begin, range().end};
}

absl::Status GpuTable::Gather(RowForm form, absl::Span<const uint64_t> rows, absl::Span<const uint32_t> slots,
                              std::byte* out) {
  if (rows.empty()) return absl::OkStatus();
  ENGRAM_RETURN_IF_ERROR(UseDevice(device_));
  if (!gather_.has_value()) {
    ENGRAM_ASSIGN_OR_RETURN(gather_, TableGather::Prepare(rows_, head_dim_, device_));
  }
  return gather_->Gather(form, rows, slots, out);
}

}  // namespace engram
