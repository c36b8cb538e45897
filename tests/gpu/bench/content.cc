#include "tests/gpu/bench/content.h"

#include <cstddef>
#include <cstring>

namespace engram::bench {

std::vector<uint8_t> RowOf(uint64_t layer_key, uint64_t row, RowForm form, bool negative_zeros) {
  const uint64_t key = RowKey(layer_key, row);
  std::vector<uint8_t> packed(kPackedBytes);
  for (uint32_t word = 0; word < kCodeWords; ++word) {
    const uint64_t codes = CodesOf(key, word);
    std::memcpy(&packed[size_t{8} * word], &codes, sizeof(codes));
  }
  const uint64_t scales = ScalesOf(key);
  std::memcpy(&packed[kHeadDim], &scales, sizeof(scales));
  if (form == RowForm::kPacked) return packed;
  std::vector<uint8_t> bytes(kBf16Bytes);
  for (size_t at = 0; at < kHeadDim; ++at) {
    uint16_t value = DequantizeToBf16(packed[at], packed[kHeadDim + at / 32]);
    if (value == 0x8000 && !negative_zeros) value = 0;
    std::memcpy(&bytes[2 * at], &value, sizeof(value));
  }
  return bytes;
}

}  // namespace engram::bench
