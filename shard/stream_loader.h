// How the rows of a shard come from a table's files to where they shall lie, here or on a device.

#ifndef ENGRAM_SHARD_STREAM_LOADER_H_
#define ENGRAM_SHARD_STREAM_LOADER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "shard/engine.h"
#include "shard/load_meter.h"
#include "shard/table_source.h"

namespace engram {

// Bytes of a block: large enough to stream from a disk.
inline constexpr uint64_t kLoadBlockBytes = uint64_t{8} << 20;

// Where rows go: row i of the shard to codes + i * codes_stride and scales + i * scales_stride.
struct RowPlaces {
  std::byte* codes = nullptr;
  size_t codes_stride = 0;
  std::byte* scales = nullptr;
  size_t scales_stride = 0;
};

// Bytes [at, at + width) of each row in a file, and their place.
struct RowPiece {
  uint64_t at = 0;
  uint32_t width = 0;
  std::byte* to = nullptr;  // of the shard's first row
  size_t to_stride = 0;
};

// What is read in one go: rows that lie behind each other in one file.
struct FileRows {
  const File* file = nullptr;
  uint64_t offset = 0;  // of row 0 of the table
  uint64_t stride = 0;
  uint32_t width = 0;            // of the bytes wanted, from the row's first to its last
  std::vector<RowPiece> pieces;  // at least one

  uint64_t BytesOf(uint64_t rows) const { return rows == 0 ? 0 : (rows - 1) * stride + width; }
  // The file has the bytes just as they shall lie.
  bool IsInPlace() const { return pieces.size() == 1 && stride == width && pieces[0].to_stride == width; }
  // Rows [first, first + rows), BytesOf(rows) bytes. Errors of ReadExactly.
  absl::Status Read(uint64_t first, uint64_t rows, std::byte* out) const;
};

// All that must be read of `source`, every byte once: one file where codes and scales lie packed, else two. `source`
// must outlive it.
std::vector<FileRows> FilesOf(const TableSource& source, RowPlaces places);

// How many of `rows` rows make a block: about kLoadBlockBytes, not more than 1/16 of the shard, and at least one.
uint64_t BlockRows(const TableSource& source, uint64_t rows);

// Tells the kernel that the files are about to be read from front to back.
void AdviseSequential(const TableSource& source);

// Reads the rows of `range` into memory of this process, at most one block beside it. DATA_LOSS when a file changes
// meanwhile; errors of LoadMeter::Add.
absl::Status LoadRows(TableSource& source, ShardRange range, RowPlaces places, LoadMeter& meter);

}  // namespace engram

#endif  // ENGRAM_SHARD_STREAM_LOADER_H_
