#include "model/files/table_reader.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "model/files/checked_math.h"
#include "model/files/errors.h"

namespace engram {
namespace {

absl::Status CheckExtent(const File& file, const StridedBytes& records, uint64_t rows) {
  if (rows == 0) return absl::OkStatus();
  auto end = CheckedMultiply(rows - 1, records.stride);
  if (end) end = CheckedAdd(*end, records.width);
  if (end) end = CheckedAdd(*end, records.offset);
  if (end && *end <= file.size()) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(file.path(), ": has ", file.size(), " bytes, too few for ", rows, " rows of ",
                                          records.stride, " bytes from offset ", records.offset));
}

}  // namespace

absl::StatusOr<TableReader> TableReader::Open(const TableFiles& table) {
  ENGRAM_ASSIGN_OR_RETURN(File codes, File::Open(table.codes.path));
  ENGRAM_ASSIGN_OR_RETURN(File scales, File::Open(table.scales.path));
  ENGRAM_RETURN_IF_ERROR(CheckExtent(codes, table.codes, table.rows));
  ENGRAM_RETURN_IF_ERROR(CheckExtent(scales, table.scales, table.rows));
  return TableReader(table, std::move(codes), std::move(scales));
}

absl::Status TableReader::ReadRow(uint64_t row, absl::Span<uint8_t> codes, absl::Span<uint8_t> scales) const {
  if (row >= table_.rows) {
    return absl::InvalidArgumentError(absl::StrCat("row ", row, " is not in [0, ", table_.rows, ")"));
  }
  if (codes.size() != table_.codes.width || scales.size() != table_.scales.width) {
    return absl::InvalidArgumentError(absl::StrCat("a row has ", table_.codes.width, " codes and ", table_.scales.width,
                                                   " scales, asked for ", codes.size(), " and ", scales.size()));
  }
  const uint64_t codes_at = table_.codes.offset + row * table_.codes.stride;
  const uint64_t scales_at = table_.scales.offset + row * table_.scales.stride;
  ENGRAM_RETURN_IF_ERROR(codes_.ReadExactly(codes_at, codes.data(), codes.size()));
  return scales_.ReadExactly(scales_at, scales.data(), scales.size());
}

absl::Status TableReader::CheckUnchanged() {
  ENGRAM_RETURN_IF_ERROR(codes_.CheckUnchanged());
  return scales_.CheckUnchanged();
}

}  // namespace engram
