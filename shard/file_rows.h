// Where the rows of a shard lie in a table's files and where they shall lie, and how much of them is read at a time.

#ifndef ENGRAM_SHARD_FILE_ROWS_H_
#define ENGRAM_SHARD_FILE_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "shard/direct_file.h"
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
  std::unique_ptr<DirectFile> file;
  uint64_t offset = 0;  // of row 0 of the table
  uint64_t stride = 0;
  uint32_t width = 0;            // of the bytes wanted, from the row's first to its last
  std::vector<RowPiece> pieces;  // at least one

  uint64_t BytesOf(uint64_t rows) const { return rows == 0 ? 0 : (rows - 1) * stride + width; }
  // Room that Read needs.
  uint64_t RoomFor(uint64_t rows) const { return file->RoomFor(BytesOf(rows)); }
  // The file has the bytes just as they shall lie.
  bool IsInPlace() const { return pieces.size() == 1 && stride == width && pieces[0].to_stride == width; }
  // Rows [first, first + rows), BytesOf(rows) bytes. As DirectFile::Read.
  absl::StatusOr<std::byte*> Read(uint64_t first, uint64_t rows, std::byte* room) const {
    return file->Read(offset + first * stride, BytesOf(rows), room);
  }
};

// All that must be read of `source`, every byte once: one file where codes and scales lie packed, else two. `source`
// must outlive it. `direct`: past the page cache.
std::vector<FileRows> FilesOf(const TableSource& source, RowPlaces places, bool direct);

// The room that a block of `rows` rows takes in memory.
uint64_t RoomFor(const std::vector<FileRows>& files, uint64_t rows);

struct BlockSize {
  uint64_t rows = 1;
  bool direct = false;  // past the page cache: blocks so large that whole sectors cost next to no memory
};

// Of `rows` rows to load, for `blocks` blocks that are in memory at a time: about kLoadBlockBytes each, all of them not
// more than 1/16 of the shard, and at least a row.
BlockSize BlockSizeFor(const TableSource& source, uint64_t rows, uint64_t blocks);

// Tells the kernel that the files are about to be read from front to back.
void AdviseSequential(const TableSource& source);

}  // namespace engram

#endif  // ENGRAM_SHARD_FILE_ROWS_H_
