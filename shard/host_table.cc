#include "shard/host_table.h"

#include <fcntl.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "model/files/errors.h"

namespace engram {
namespace {

constexpr uint64_t kBlockBytes = uint64_t{8} << 20;

// Copies the rows of one stream into their places in packed rows, a block at a time.
class StreamLoader {
 public:
  StreamLoader(const RowStream& stream, uint64_t block_rows)
      : stream_(stream), block_(static_cast<size_t>(stream.BytesOf(block_rows))) {}

  // Rows [first, first + count) to out, out + out_stride, ...
  absl::Status Load(uint64_t first, uint64_t count, std::byte* out, size_t out_stride) {
    const auto bytes = static_cast<size_t>(stream_.BytesOf(count));
    ENGRAM_RETURN_IF_ERROR(stream_.file.ReadExactly(stream_.OffsetOf(first), block_.data(), bytes));
    for (uint64_t i = 0; i < count; ++i) {
      std::memcpy(out + i * out_stride, block_.data() + i * stream_.stride, stream_.width);
    }
    return absl::OkStatus();
  }

 private:
  const RowStream& stream_;
  std::vector<std::byte> block_;
};

// Large enough to stream, small beside the shard.
uint64_t BlockRows(const TableSource& source, uint64_t rows) {
  const uint64_t shard_bytes = rows * (source.codes.width + source.scales.width);
  const uint64_t row_bytes = source.codes.stride + source.scales.stride;
  return std::clamp<uint64_t>(std::min(kBlockBytes, shard_bytes / 16) / row_bytes, 1, std::max<uint64_t>(rows, 1));
}

absl::Status LoadPacked(const TableSource& source, ShardRange range, std::byte* out, LoadMeter& meter) {
  const uint64_t row_bytes = source.codes.stride;
  const uint64_t block_rows = std::max<uint64_t>(kBlockBytes / row_bytes, 1);
  for (uint64_t first = range.begin; first < range.end; first += block_rows) {
    const uint64_t bytes = std::min(block_rows, range.end - first) * row_bytes;
    ENGRAM_RETURN_IF_ERROR(source.codes.file.ReadExactly(source.codes.OffsetOf(first), out, bytes));
    ENGRAM_RETURN_IF_ERROR(meter.Add(bytes));
    out += bytes;
  }
  return absl::OkStatus();
}

absl::Status LoadApart(const TableSource& source, ShardRange range, std::byte* out, LoadMeter& meter) {
  const size_t row_bytes = source.codes.width + source.scales.width;
  const uint64_t block_rows = BlockRows(source, range.end - range.begin);
  StreamLoader codes(source.codes, block_rows);
  StreamLoader scales(source.scales, block_rows);
  for (uint64_t first = range.begin; first < range.end; first += block_rows) {
    const uint64_t rows = std::min(block_rows, range.end - first);
    ENGRAM_RETURN_IF_ERROR(codes.Load(first, rows, out, row_bytes));
    ENGRAM_RETURN_IF_ERROR(scales.Load(first, rows, out + source.codes.width, row_bytes));
    ENGRAM_RETURN_IF_ERROR(meter.Add(rows * row_bytes));
    out += rows * row_bytes;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Table>> HostTable::Load(TableSource source, ShardRange range, LoadMeter& meter) {
  const uint64_t bytes = (range.end - range.begin) * (source.codes.width + source.scales.width);
  absl::StatusOr<AnonymousMemory> memory = AnonymousMemory::Allocate(bytes, "placement HOST");
  if (!memory.ok()) return memory.status();
  posix_fadvise(source.codes.file.descriptor(), 0, 0, POSIX_FADV_SEQUENTIAL);
  posix_fadvise(source.scales.file.descriptor(), 0, 0, POSIX_FADV_SEQUENTIAL);
  ENGRAM_RETURN_IF_ERROR(source.IsPacked() ? LoadPacked(source, range, memory->data(), meter)
                                           : LoadApart(source, range, memory->data(), meter));
  ENGRAM_RETURN_IF_ERROR(source.CheckUnchanged());
  return std::unique_ptr<Table>(new HostTable(range, source.codes.width, *std::move(memory)));
}

absl::Status HostTable::Gather(RowForm form, absl::Span<const uint64_t> rows, absl::Span<const uint32_t> slots,
                               std::byte* out) {
  const auto* base = reinterpret_cast<const uint8_t*>(memory_.data());
  const uint64_t begin = range().begin;
  const size_t row_bytes = writer_.packed_bytes();
  const uint32_t head_dim = writer_.head_dim();
  writer_.WriteAll(form, rows, slots, out, [=](uint64_t row) {
    const uint8_t* codes = base + (row - begin) * row_bytes;
    return RowBytes{codes, codes + head_dim};
  });
  return absl::OkStatus();
}

}  // namespace engram
