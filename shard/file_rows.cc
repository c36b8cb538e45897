#include "shard/file_rows.h"

#include <fcntl.h>

#include <algorithm>
#include <utility>

namespace engram {
namespace {

constexpr uint64_t kDirectBytesMin = 64 << 10;

// Bytes between two rows of a table, all its files together.
uint64_t FileRowBytes(const TableSource& source) {
  return source.IsPacked() ? source.codes.stride : source.codes.stride + source.scales.stride;
}

FileRows OneStream(const RowStream& stream, std::byte* to, size_t to_stride, bool direct) {
  return {std::make_unique<DirectFile>(stream.file, direct),
          stream.offset,
          stream.stride,
          stream.width,
          {{0, stream.width, to, to_stride}}};
}

}  // namespace

std::vector<FileRows> FilesOf(const TableSource& source, RowPlaces places, bool direct) {
  const RowStream& codes = source.codes;
  const RowStream& scales = source.scales;
  std::vector<FileRows> files;
  files.push_back(OneStream(codes, places.codes, places.codes_stride, direct));
  if (!source.IsPacked()) {
    files.push_back(OneStream(scales, places.scales, places.scales_stride, direct));
    return files;
  }
  FileRows& rows = files[0];
  rows.width += scales.width;
  if (places.scales == places.codes + codes.width && places.scales_stride == places.codes_stride) {
    rows.pieces[0].width = rows.width;
  } else {
    rows.pieces.push_back({codes.width, scales.width, places.scales, places.scales_stride});
  }
  return files;
}

uint64_t RoomFor(const std::vector<FileRows>& files, uint64_t rows) {
  uint64_t bytes = 0;
  for (const FileRows& file : files) bytes += file.RoomFor(rows);
  return bytes;
}

BlockSize BlockSizeFor(const TableSource& source, uint64_t rows, uint64_t blocks) {
  const uint64_t shard_bytes = rows * (source.codes.width + source.scales.width);
  uint64_t bytes = std::min(kLoadBlockBytes, shard_bytes / 16 / blocks);
  const bool direct = bytes >= kDirectBytesMin;
  if (direct) bytes -= 2 * 2 * DirectFile::kAlignment;  // sectors before and behind, of codes and of scales
  return {std::clamp<uint64_t>(bytes / FileRowBytes(source), 1, std::max<uint64_t>(rows, 1)), direct};
}

void AdviseSequential(const TableSource& source) {
  posix_fadvise(source.codes.file.descriptor(), 0, 0, POSIX_FADV_SEQUENTIAL);
  posix_fadvise(source.scales.file.descriptor(), 0, 0, POSIX_FADV_SEQUENTIAL);
}

}  // namespace engram
