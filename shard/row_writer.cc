#include "shard/row_writer.h"

#include <cstring>

#include "model/number_formats.h"

namespace engram {
namespace {

// A bf16 row whose destination is odd, a few values at a time.
void WriteOdd(const uint8_t* codes, const uint8_t* scales, uint32_t head_dim, std::byte* out) {
  constexpr uint32_t kBlocks = 8;
  uint16_t values[kBlocks * kScaleBlock];
  for (uint32_t at = 0; at < head_dim; at += kBlocks * kScaleBlock) {
    const uint32_t count = std::min<uint32_t>(kBlocks * kScaleBlock, head_dim - at);
    DequantizeRow({codes + at, count}, {scales + at / kScaleBlock, count / kScaleBlock}, {values, count});
    std::memcpy(out + size_t{2} * at, values, size_t{2} * count);
  }
}

}  // namespace

void RowWriter::Write(RowForm form, RowBytes row, std::byte* out) const {
  if (form == RowForm::kBf16) {
    if (reinterpret_cast<uintptr_t>(out) % alignof(uint16_t) != 0) {
      return WriteOdd(row.codes, row.scales, head_dim_, out);
    }
    DequantizeRow({row.codes, head_dim_}, {row.scales, scales()}, {reinterpret_cast<uint16_t*>(out), head_dim_});
  } else if (row.scales == row.codes + head_dim_) {
    std::memcpy(out, row.codes, packed_bytes());
  } else {
    std::memcpy(out, row.codes, head_dim_);
    std::memcpy(out + head_dim_, row.scales, scales());
  }
}

}  // namespace engram
