#include "shard/gpu/table_gather.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "model/files/errors.h"
#include "shard/gpu/kernels.h"
#include "shard/row_plan.h"

namespace engram {
namespace {

constexpr uint64_t kChunkBytes = uint64_t{1} << 20;  // of bf16 rows, the wider form
constexpr absl::Duration kTimeout = absl::Minutes(1);
constexpr const char* kPurpose = "staging for rows on their way to the host";

}  // namespace

absl::StatusOr<TableGather> TableGather::Prepare(const DeviceRows& table, uint32_t head_dim, int device) {
  ENGRAM_ASSIGN_OR_RETURN(Stream stream, Stream::Create(device));
  TableGather gather(head_dim, std::move(stream));
  ENGRAM_RETURN_IF_ERROR(gather.Allocate(std::max<uint64_t>(kChunkBytes / gather.RowWidth(RowForm::kBf16), 1)));
  ENGRAM_RETURN_IF_ERROR(gather.PutTable(table));
  return gather;
}

absl::Status TableGather::Allocate(uint64_t chunk_rows) {
  const int device = stream_.device();
  const uint64_t entry_bytes = chunk_rows * sizeof(uint64_t);
  const uint64_t row_bytes = chunk_rows * RowWidth(RowForm::kBf16);
  ENGRAM_ASSIGN_OR_RETURN(device_table_, DeviceBuffer::Allocate(device, sizeof(DeviceRows), kPurpose));
  ENGRAM_ASSIGN_OR_RETURN(device_entries_, DeviceBuffer::Allocate(device, entry_bytes, kPurpose));
  ENGRAM_ASSIGN_OR_RETURN(device_rows_, DeviceBuffer::Allocate(device, row_bytes, kPurpose));
  ENGRAM_ASSIGN_OR_RETURN(entries_, PinnedBuffer::Allocate(device, entry_bytes, kPurpose));
  ENGRAM_ASSIGN_OR_RETURN(rows_, PinnedBuffer::Allocate(device, row_bytes, kPurpose));
  return absl::OkStatus();
}

absl::Status TableGather::PutTable(const DeviceRows& table) {
  static_assert(sizeof(DeviceRows) <= kChunkBytes);
  std::memcpy(rows_.data(), &table, sizeof(table));
  ENGRAM_RETURN_IF_CUDA_ERROR(
      cudaMemcpyAsync(device_table_.data(), rows_.data(), sizeof(table), cudaMemcpyHostToDevice, stream_.get()));
  return Await();
}

absl::Status TableGather::Gather(RowForm form, absl::Span<const uint64_t> rows, absl::Span<const uint32_t> slots,
                                 std::byte* out) {
  const size_t width = RowWidth(form);
  for (size_t begin = 0; begin < rows.size(); begin += chunk_rows()) {
    const absl::Span<const uint64_t> chunk = rows.subspan(begin, chunk_rows());
    ENGRAM_RETURN_IF_ERROR(GatherChunk(form, chunk));
    for (size_t i = 0; i < chunk.size(); ++i) {
      const size_t slot = slots.empty() ? begin + i : slots[begin + i];
      std::memcpy(out + slot * width, rows_.data() + i * width, width);
    }
  }
  return absl::OkStatus();
}

absl::Status TableGather::GatherChunk(RowForm form, absl::Span<const uint64_t> rows) {
  auto* entries = reinterpret_cast<uint64_t*>(entries_.data());
  std::transform(rows.begin(), rows.end(), entries, [](uint64_t row) { return EntryOf(0, row); });
  ENGRAM_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(device_entries_.data(), entries, rows.size() * sizeof(uint64_t),
                                              cudaMemcpyHostToDevice, stream_.get()));
  GatherArgs args;
  args.layers = reinterpret_cast<const DeviceRows*>(device_table_.data());
  args.layer_count = 1;
  args.head_dim = head_dim_;
  args.entries = reinterpret_cast<const uint64_t*>(device_entries_.data());
  args.rows = rows.size();
  args.form = form;
  args.out = reinterpret_cast<uint8_t*>(device_rows_.data());
  ENGRAM_RETURN_IF_ERROR(LaunchGather(args, stream_.get()));
  ENGRAM_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(rows_.data(), device_rows_.data(), rows.size() * RowWidth(form),
                                              cudaMemcpyDeviceToHost, stream_.get()));
  return Await();
}

absl::Status TableGather::Await() const { return stream_.Await("a gather of rows", DeadlineAfter(kTimeout)); }

size_t TableGather::RowWidth(RowForm form) const {
  return form == RowForm::kPacked ? head_dim_ + head_dim_ / kScaleBlock : size_t{2} * head_dim_;
}

}  // namespace engram
