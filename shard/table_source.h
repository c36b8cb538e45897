// The files of one table, opened, with the extents of a shard checked against them.

#ifndef ENGRAM_SHARD_TABLE_SOURCE_H_
#define ENGRAM_SHARD_TABLE_SOURCE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "model/files/checkpoint.h"
#include "model/files/file.h"
#include "shard/engine.h"

namespace engram {

// One of a table's two byte streams: codes or scales. Immutable.
struct RowStream {
  File file;
  uint64_t offset;  // of row 0
  uint64_t stride;
  uint32_t width;

  uint64_t OffsetOf(uint64_t row) const { return offset + row * stride; }
  // Bytes from the first byte of the first row to the last byte of the last one; 0 without rows.
  uint64_t BytesOf(uint64_t rows) const { return rows == 0 ? 0 : (rows - 1) * stride + width; }
};

struct TableSource {
  RowStream codes;
  RowStream scales;

  // Opens both. FAILED_PRECONDITION when the widths are not those of `head_dim` or the range leaves the table;
  // DATA_LOSS when a file ends before the last row of `range`.
  static absl::StatusOr<TableSource> Open(const TableFiles& files, ShardRange range, uint32_t head_dim);

  // Rows lie packed in one file (GGUF): scales right behind their codes, rows right behind each other.
  bool IsPacked() const;

  // DATA_LOSS naming the file that is no longer what was opened.
  absl::Status CheckUnchanged();
};

}  // namespace engram

#endif  // ENGRAM_SHARD_TABLE_SOURCE_H_
