#include "shard/stream_loader.h"

#include <fcntl.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "model/files/errors.h"

namespace engram {
namespace {

// Bytes between two rows of a table, all its files together.
uint64_t FileRowBytes(const TableSource& source) {
  return source.IsPacked() ? source.codes.stride : source.codes.stride + source.scales.stride;
}

FileRows OneStream(const RowStream& stream, std::byte* to, size_t to_stride) {
  return {&stream.file, stream.offset, stream.stride, stream.width, {{0, stream.width, to, to_stride}}};
}

// Rows of one file to their places, block after block.
class StreamLoader {
 public:
  explicit StreamLoader(FileRows rows) : rows_(std::move(rows)) {}

  // `at`: of row `first` in the shard.
  absl::Status Load(uint64_t first, uint64_t at, uint64_t count) {
    if (rows_.IsInPlace()) return rows_.Read(first, count, rows_.pieces[0].to + at * rows_.width);
    block_.resize(std::max<size_t>(block_.size(), rows_.BytesOf(count)));
    ENGRAM_RETURN_IF_ERROR(rows_.Read(first, count, block_.data()));
    for (const RowPiece& piece : rows_.pieces) Spread(piece, at, count);
    return absl::OkStatus();
  }

 private:
  void Spread(const RowPiece& piece, uint64_t at, uint64_t count) const {
    const std::byte* from = block_.data() + piece.at;
    std::byte* to = piece.to + at * piece.to_stride;
    for (uint64_t i = 0; i < count; ++i) std::memcpy(to + i * piece.to_stride, from + i * rows_.stride, piece.width);
  }

  const FileRows rows_;
  std::vector<std::byte> block_;
};

}  // namespace

absl::Status FileRows::Read(uint64_t first, uint64_t rows, std::byte* out) const {
  return file->ReadExactly(offset + first * stride, out, static_cast<size_t>(BytesOf(rows)));
}

std::vector<FileRows> FilesOf(const TableSource& source, RowPlaces places) {
  const RowStream& codes = source.codes;
  const RowStream& scales = source.scales;
  if (!source.IsPacked()) {
    return {OneStream(codes, places.codes, places.codes_stride),
            OneStream(scales, places.scales, places.scales_stride)};
  }
  FileRows rows = OneStream(codes, places.codes, places.codes_stride);
  rows.width += scales.width;
  if (places.scales == places.codes + codes.width && places.scales_stride == places.codes_stride) {
    rows.pieces[0].width = rows.width;
  } else {
    rows.pieces.push_back({codes.width, scales.width, places.scales, places.scales_stride});
  }
  return {rows};
}

uint64_t BlockRows(const TableSource& source, uint64_t rows) {
  const uint64_t shard_bytes = rows * (source.codes.width + source.scales.width);
  const uint64_t bytes = std::min(kLoadBlockBytes, shard_bytes / 16);
  return std::clamp<uint64_t>(bytes / FileRowBytes(source), 1, std::max<uint64_t>(rows, 1));
}

void AdviseSequential(const TableSource& source) {
  posix_fadvise(source.codes.file.descriptor(), 0, 0, POSIX_FADV_SEQUENTIAL);
  posix_fadvise(source.scales.file.descriptor(), 0, 0, POSIX_FADV_SEQUENTIAL);
}

absl::Status LoadRows(TableSource& source, ShardRange range, RowPlaces places, LoadMeter& meter) {
  AdviseSequential(source);
  std::vector<StreamLoader> loaders;
  for (FileRows& rows : FilesOf(source, places)) loaders.emplace_back(std::move(rows));
  const uint64_t row_bytes = source.codes.width + source.scales.width;
  const uint64_t block_rows = BlockRows(source, range.end - range.begin);
  for (uint64_t first = range.begin; first < range.end; first += block_rows) {
    const uint64_t rows = std::min(block_rows, range.end - first);
    for (StreamLoader& loader : loaders) {
      ENGRAM_RETURN_IF_ERROR(loader.Load(first, first - range.begin, rows));
    }
    ENGRAM_RETURN_IF_ERROR(meter.Add(rows * row_bytes));
  }
  return source.CheckUnchanged();
}

}  // namespace engram
