#include "client/dequantize.h"

#include "absl/strings/str_cat.h"
#include "model/number_formats.h"

namespace engram {
namespace {

absl::Status Dequantize(size_t head_dim, absl::Span<const uint8_t> packed, absl::Span<uint16_t> values) {
  if (head_dim == 0 || head_dim % kScaleBlock != 0) {
    return absl::InvalidArgumentError(absl::StrCat("head_dim ", head_dim, " is no positive multiple of ", kScaleBlock));
  }
  const size_t row_bytes = head_dim + head_dim / kScaleBlock;
  if (packed.size() % row_bytes != 0) {
    return absl::InvalidArgumentError(absl::StrCat("packed has ", packed.size(), " bytes, no multiple of ", row_bytes));
  }
  const size_t rows = packed.size() / row_bytes;
  if (values.size() != rows * head_dim) {
    return absl::InvalidArgumentError(
        absl::StrCat("values has room for ", values.size(), " of ", rows * head_dim, " values"));
  }
  for (size_t row = 0; row < rows; ++row) {
    const absl::Span<const uint8_t> bytes = packed.subspan(row * row_bytes, row_bytes);
    DequantizeRow(bytes.first(head_dim), bytes.subspan(head_dim), values.subspan(row * head_dim, head_dim));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status DequantizePacked(const Geometry& geometry, absl::Span<const uint8_t> packed, absl::Span<uint16_t> values) {
  return Dequantize(geometry.head_dim, packed, values);
}

absl::Status DequantizePacked(const v1::Geometry& geometry, absl::Span<const uint8_t> packed,
                              absl::Span<uint16_t> values) {
  return Dequantize(geometry.head_dim(), packed, values);
}

}  // namespace engram
