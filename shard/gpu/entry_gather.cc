#include "shard/gpu/entry_gather.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shard/gpu/kernels.h"
#include "shard/row_plan.h"

namespace engram {
namespace {

// Of a few kilobytes, by the device alone.
constexpr absl::Duration kUploadTimeout = absl::Minutes(1);

// Fills up what a graph gathers more than was asked for.
constexpr uint64_t kNobodysEntry = ~uint64_t{0};
static_assert(LayerOf(kNobodysEntry) >= kLayersMax);

absl::StatusOr<std::vector<DeviceRows>> RowsOf(const Shard& shard) {
  std::vector<DeviceRows> layers(shard.geometry().layers());
  for (size_t layer = 0; layer < layers.size(); ++layer) {
    const Table& table = shard.table(layer);
    if (table.device_rows() != nullptr) {
      layers[layer] = *table.device_rows();
    } else if (table.range().begin != table.range().end) {
      return absl::InternalError(
          absl::StrCat("layer ", shard.geometry().layer_ids[layer], ": its rows are not where a GPU finds them"));
    }
  }
  return layers;
}

}  // namespace

absl::Status UploadLayers(const Shard& shard, const RoundBuffers& buffers, const Stream& stream) {
  ENGRAM_ASSIGN_OR_RETURN(const std::vector<DeviceRows> layers, RowsOf(shard));
  ENGRAM_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(buffers.layers.data(), layers.data(), buffers.layers.size(),
                                              cudaMemcpyHostToDevice, stream.get()));
  return stream.Await("the upload of the tables' addresses", DeadlineAfter(kUploadTimeout));
}

uint64_t* EntryGather::HostEntries(int slot) const {
  return reinterpret_cast<uint64_t*>(buffers_.host_entries[static_cast<size_t>(slot)].data());
}

absl::Status EntryGather::Upload(int slot, uint64_t rows) {
  ENGRAM_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(buffers_.entries.data(), HostEntries(slot), rows * sizeof(uint64_t),
                                              cudaMemcpyHostToDevice, stream_.get()));
  return absl::OkStatus();
}

absl::Status EntryGather::GatherUploaded(uint64_t begin, uint64_t rows, RowForm form, std::byte* out) {
  GatherArgs args;
  args.layers = reinterpret_cast<const DeviceRows*>(buffers_.layers.data());
  args.layer_count = static_cast<uint32_t>(geometry_.layers());
  args.head_dim = geometry_.head_dim;
  args.entries = reinterpret_cast<const uint64_t*>(buffers_.entries.data()) + begin;
  args.rows = rows;
  args.form = form;
  args.out = reinterpret_cast<uint8_t*>(out);
  return LaunchGather(args, stream_.get());
}

absl::Status EntryGather::Gather(const Call& call) {
  ENGRAM_RETURN_IF_ERROR(Upload(call.slot, call.rows));
  ENGRAM_RETURN_IF_ERROR(GatherUploaded(0, call.rows, call.form, call.out));
  if (call.staging == nullptr) return absl::OkStatus();
  const uint64_t row_bytes = call.form == RowForm::kPacked ? geometry_.packed_row_bytes() : geometry_.bf16_row_bytes();
  ENGRAM_RETURN_IF_CUDA_ERROR(
      cudaMemcpyAsync(call.staging, call.out, call.rows * row_bytes, cudaMemcpyDeviceToHost, stream_.get()));
  return absl::OkStatus();
}

absl::Status EntryGather::WarmUp(const Call& call) {
  const uint64_t rows_max = std::min(call.rows, kSmallRows);
  std::fill_n(HostEntries(call.slot), rows_max, kNobodysEntry);
  Call padded = call;
  for (uint64_t rows = 1; rows < 2 * rows_max; rows *= 2) {
    padded.rows = std::min(rows, rows_max);
    ENGRAM_RETURN_IF_ERROR(GatherFixed(padded));
  }
  return absl::OkStatus();
}

absl::Status EntryGather::GatherFixed(const Call& call) {
  if (call.rows == 0) return absl::OkStatus();
  if (call.rows > kSmallRows) return Gather(call);
  Call padded = call;
  padded.rows = std::min(std::bit_ceil(call.rows), rows_max_);
  std::fill(HostEntries(call.slot) + call.rows, HostEntries(call.slot) + padded.rows, kNobodysEntry);
  return graphs_.Launch({call.slot, call.form, padded.rows}, stream_, [&] { return Gather(padded); });
}

}  // namespace engram
