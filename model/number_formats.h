// e4m3fn, e8m0 and bf16, both ways. Pure functions shared by CPU and GPU code.

#ifndef ENGRAM_MODEL_NUMBER_FORMATS_H_
#define ENGRAM_MODEL_NUMBER_FORMATS_H_

#include <bit>
#include <cstdint>

#include "absl/types/span.h"

#if defined(__CUDACC__)
#define ENGRAM_HOST_DEVICE __host__ __device__
#else
#define ENGRAM_HOST_DEVICE
#endif

namespace engram {

// The one bf16 NaN we write, on every backend.
inline constexpr uint16_t kBf16Nan = 0x7FC0;
inline constexpr uint8_t kE4m3Magnitude = 0x7F;  // every bit but the sign; all of them set is the NaN
inline constexpr uint8_t kE8m0Nan = 0xFF;

ENGRAM_HOST_DEVICE inline float FloatOfBits(uint32_t bits) {
#if defined(__CUDA_ARCH__)
  return __uint_as_float(bits);
#else
  return std::bit_cast<float>(bits);
#endif
}

ENGRAM_HOST_DEVICE inline uint32_t BitsOfFloat(float value) {
#if defined(__CUDA_ARCH__)
  return __float_as_uint(value);
#else
  return std::bit_cast<uint32_t>(value);
#endif
}

// e4m3fn: sign, 4 exponent bits with bias 7, 3 mantissa bits; no infinities, 0x7F and 0xFF are NaN, 0x80 is -0.
ENGRAM_HOST_DEVICE inline float E4m3ToFloat(uint8_t code) {
  const uint32_t sign = static_cast<uint32_t>(code & 0x80) << 24;
  const uint32_t magnitude = code & kE4m3Magnitude;
  if (magnitude == kE4m3Magnitude) return FloatOfBits(sign | 0x7FC00000u);
  // Below 8 the exponent field is zero: magnitude * 2^-9. Otherwise the fields move up and the bias grows from 7 to
  // 127.
  const uint32_t bits =
      magnitude < 8 ? BitsOfFloat(static_cast<float>(magnitude) * 0x1p-9f) : (magnitude << 20) + (120u << 23);
  return FloatOfBits(sign | bits);
}

// e8m0: 2^(code-127); 0 is 2^-127 (a subnormal float), 255 is NaN.
ENGRAM_HOST_DEVICE inline float E8m0ToFloat(uint8_t code) {
  if (code == kE8m0Nan) return FloatOfBits(0x7FC00000u);
  return FloatOfBits(code == 0 ? 0x00400000u : static_cast<uint32_t>(code) << 23);
}

ENGRAM_HOST_DEVICE inline float Bf16ToFloat(uint16_t bits) { return FloatOfBits(static_cast<uint32_t>(bits) << 16); }

// Round to nearest even; NaN becomes kBf16Nan.
ENGRAM_HOST_DEVICE inline uint16_t FloatToBf16(float value) {
  const uint32_t bits = BitsOfFloat(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return kBf16Nan;
  const uint32_t odd = (bits >> 16) & 1;  // half way rounds up only from an odd bf16
  return static_cast<uint16_t>((bits + 0x7FFFu + odd) >> 16);
}

// bf16(e4m3(code) * 2^(scale-127)), computed in fp32; NaN where either is NaN, tested on the bytes. Needs subnormals:
// wrong where the processor flushes them to zero.
ENGRAM_HOST_DEVICE inline uint16_t DequantizeToBf16(uint8_t code, uint8_t scale) {
  if ((code & kE4m3Magnitude) == kE4m3Magnitude || scale == kE8m0Nan) return kBf16Nan;
  return FloatToBf16(E4m3ToFloat(code) * E8m0ToFloat(scale));
}

// Round to nearest even, saturating at 448 (infinities too); NaN becomes 0x7F with the sign kept.
uint8_t FloatToE4m3(float value);
// Nearest power of two in [2^-127, 2^127]; a tie at 1.5*2^e goes to the even biased exponent. NaN and +infinity become
// 255; zero and below become 0.
uint8_t FloatToE8m0(float value);

// codes [D], scales [D/32] -> out [D], D a multiple of 32. No alignment is assumed of the bytes. Equal to
// DequantizeToBf16 of every pair, many codes at a time.
void DequantizeRow(absl::Span<const uint8_t> codes, absl::Span<const uint8_t> scales, absl::Span<uint16_t> out);

}  // namespace engram

#endif  // ENGRAM_MODEL_NUMBER_FORMATS_H_
