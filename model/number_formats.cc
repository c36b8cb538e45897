#include "model/number_formats.h"

#include <cmath>

#include "model/check.h"
#include "model/dequantize_blocks.h"

namespace engram {

uint8_t FloatToE4m3(float value) {
  const uint32_t bits = BitsOfFloat(value);
  const uint8_t sign = static_cast<uint8_t>((bits >> 24) & 0x80);
  const uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return sign | kE4m3Magnitude;
  if (magnitude >= 0x43E00000u) return sign | 0x7E;  // 448 and above
  if (magnitude < 0x3C800000u) {
    // Below 2^-6 codes count steps of 2^-9, and adding 2^14 leaves a float whose last bit is worth 2^-9: the sum rounds
    // as the code must. Eight steps are code 8 = 2^-6, as they should be.
    return sign | static_cast<uint8_t>(BitsOfFloat(FloatOfBits(magnitude) + 0x1p14f) & 0xF);
  }
  const uint32_t odd = (magnitude >> 20) & 1;
  const uint32_t rounded = (magnitude + 0x7FFFFu + odd) >> 20;  // 3 mantissa bits left; a carry moves the exponent up
  return sign | static_cast<uint8_t>(rounded - (120u << 3));
}

uint8_t FloatToE8m0(float value) {
  const uint32_t bits = BitsOfFloat(value);
  const uint32_t mantissa = bits & 0x7FFFFFu;
  const uint32_t exponent = (bits >> 23) & 0xFF;
  if (std::isnan(value)) return kE8m0Nan;
  if ((bits >> 31) != 0) return 0;
  if (exponent == 0xFF) return kE8m0Nan;
  // Subnormals have no implicit one: 2^-127, code 0, is mantissa 0x400000 and the tie with 2^-126 is 0x600000.
  if (exponent == 0) return mantissa > 0x600000u ? 1 : 0;
  const bool up = mantissa > 0x400000u || (mantissa == 0x400000u && (exponent & 1) != 0);
  return static_cast<uint8_t>(up && exponent < 254 ? exponent + 1 : exponent);
}

void DequantizeRow(absl::Span<const uint8_t> codes, absl::Span<const uint8_t> scales, absl::Span<uint16_t> out) {
  ENGRAM_CHECK(codes.size() == kDequantizedBlock * scales.size());
  ENGRAM_CHECK(out.size() == codes.size());
#if defined(ENGRAM_WITH_HIGHWAY)
  DequantizeBlocksAsVectors(codes.data(), scales.data(), scales.size(), out.data());
#else
  DequantizeBlocks(codes.data(), scales.data(), scales.size(), out.data());
#endif
}

}  // namespace engram
