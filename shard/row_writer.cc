#include "shard/row_writer.h"

#include <cstring>

#include "model/number_formats.h"

namespace engram {

void RowWriter::Write(RowForm form, RowBytes row, std::byte* out) {
  if (form == RowForm::kPacked) {
    if (row.scales == row.codes + head_dim_) {
      std::memcpy(out, row.codes, packed_bytes());
    } else {
      std::memcpy(out, row.codes, head_dim_);
      std::memcpy(out + head_dim_, row.scales, scales());
    }
    return;
  }
  const bool aligned = reinterpret_cast<uintptr_t>(out) % alignof(uint16_t) == 0;
  uint16_t* values = aligned ? reinterpret_cast<uint16_t*>(out) : scratch_.data();
  DequantizeRow({row.codes, head_dim_}, {row.scales, scales()}, {values, head_dim_});
  if (!aligned) std::memcpy(out, values, size_t{2} * head_dim_);
}

}  // namespace engram
