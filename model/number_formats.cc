#include "model/number_formats.h"

#include <cmath>

#include "model/check.h"

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

namespace {

// Between these no result of a block is subnormal or overflows: 2^-9 * 2^(10-127) is the smallest normal number and
// 448 * 2^(246-127) lies below 2^128.
constexpr uint8_t kPlainScaleMin = 10;
constexpr uint8_t kPlainScaleMax = 246;
constexpr size_t kBlock = 32;

// One block under a scale in [kPlainScaleMin, kPlainScaleMax], in 16-bit integers that compilers turn into vector code.
// The bits of a bf16 are a concave, piecewise linear function of an e4m3 magnitude m (each doubling of the value costs
// 128): slope 16 from m = 8 on, where the formats differ in bias and mantissa width only, and 32, 64, 128 over the
// subnormals 4..7, 2..3 and 1. So they are the least of four lines. All is exact, nothing rounds.
__attribute__((always_inline)) inline void DequantizePlainBlock(const uint8_t* __restrict codes, uint8_t scale,
                                                                uint16_t* __restrict out) {
  const int16_t bias = static_cast<int16_t>((scale - 7) * 128);
  for (size_t i = 0; i < kBlock; ++i) {
    const int16_t m = codes[i] & kE4m3Magnitude;
    const auto least = [](int16_t a, int16_t b) { return a < b ? a : b; };
    const int16_t normal = static_cast<int16_t>(m * 16);
    const int16_t from_4 = static_cast<int16_t>(m * 32 - 128);
    const int16_t from_2 = static_cast<int16_t>(m * 64 - 256);
    const int16_t from_1 = static_cast<int16_t>(m * 128 - 384);
    const int16_t steps = least(least(normal, from_4), least(from_2, from_1));
    const uint16_t sign = static_cast<uint16_t>((codes[i] & 0x80) << 8);
    const uint16_t bits = static_cast<uint16_t>(sign | (m == 0 ? 0 : bias + steps));
    out[i] = m == kE4m3Magnitude ? kBf16Nan : bits;
  }
}

void DequantizeEdgeBlock(const uint8_t* codes, uint8_t scale, uint16_t* out) {
  for (size_t i = 0; i < kBlock; ++i) out[i] = DequantizeToBf16(codes[i], scale);
}

__attribute__((always_inline)) inline void DequantizeBlocks(const uint8_t* codes, const uint8_t* scales, size_t blocks,
                                                            uint16_t* out) {
  for (size_t block = 0; block < blocks; ++block, codes += kBlock, out += kBlock) {
    const uint8_t scale = scales[block];
    if (scale >= kPlainScaleMin && scale <= kPlainScaleMax) {
      DequantizePlainBlock(codes, scale, out);
    } else {
      DequantizeEdgeBlock(codes, scale, out);
    }
  }
}

using BlocksFunction = void (*)(const uint8_t*, const uint8_t*, size_t, uint16_t*);

void DequantizeBlocksAnywhere(const uint8_t* codes, const uint8_t* scales, size_t blocks, uint16_t* out) {
  DequantizeBlocks(codes, scales, blocks, out);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) void DequantizeBlocksAvx2(const uint8_t* codes, const uint8_t* scales, size_t blocks,
                                                          uint16_t* out) {
  DequantizeBlocks(codes, scales, blocks, out);
}

BlocksFunction ChooseBlocksFunction() {
  return __builtin_cpu_supports("avx2") ? DequantizeBlocksAvx2 : DequantizeBlocksAnywhere;
}
#else
BlocksFunction ChooseBlocksFunction() { return DequantizeBlocksAnywhere; }
#endif

}  // namespace

void DequantizeRow(absl::Span<const uint8_t> codes, absl::Span<const uint8_t> scales, absl::Span<uint16_t> out) {
  static const BlocksFunction kDequantize = ChooseBlocksFunction();
  ENGRAM_CHECK(codes.size() == kBlock * scales.size());
  ENGRAM_CHECK(out.size() == codes.size());
  kDequantize(codes.data(), scales.data(), scales.size(), out.data());
}

}  // namespace engram
