// Reads rows of one table straight from its files: the plain second reader that faster paths are checked against.

#ifndef ENGRAM_MODEL_FILES_TABLE_READER_H_
#define ENGRAM_MODEL_FILES_TABLE_READER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "model/files/checkpoint.h"
#include "model/files/file.h"

namespace engram {

// Keeps the files open from Open until destruction. Any number of threads may read.
class TableReader {
 public:
  // The errors of File::Open; DATA_LOSS where a file ends before the last row.
  static absl::StatusOr<TableReader> Open(const TableFiles& table);

  uint64_t rows() const { return table_.rows; }

  // codes [D] and scales [D/32] of one row, by pread. INVALID_ARGUMENT for row >= rows or spans of other lengths;
  // DATA_LOSS and UNAVAILABLE as File::ReadExactly.
  absl::Status ReadRow(uint64_t row, absl::Span<uint8_t> codes, absl::Span<uint8_t> scales) const;

  // DATA_LOSS when a file was truncated or written to since Open.
  absl::Status CheckUnchanged();

 private:
  TableReader(TableFiles table, File codes, File scales)
      : table_(std::move(table)), codes_(std::move(codes)), scales_(std::move(scales)) {}

  TableFiles table_;
  File codes_;
  File scales_;
};

}  // namespace engram

#endif  // ENGRAM_MODEL_FILES_TABLE_READER_H_
