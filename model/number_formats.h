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

// e4m3fn: sign, 4 exponent bits with bias 7, 3 mantissa bits; no infinities, 0x7F and 0xFF are NaN, 0x80 is -0.
ENGRAM_HOST_DEVICE float E4m3ToFloat(uint8_t code);
// e8m0: 2^(code-127); 0 is 2^-127 (a subnormal float), 255 is NaN.
ENGRAM_HOST_DEVICE float E8m0ToFloat(uint8_t code);
ENGRAM_HOST_DEVICE float Bf16ToFloat(uint16_t bits);
// Round to nearest even; NaN becomes kBf16Nan.
ENGRAM_HOST_DEVICE uint16_t FloatToBf16(float value);
// bf16(e4m3(code) * 2^(scale-127)), computed in fp32; NaN where either is NaN, tested on the bytes.
ENGRAM_HOST_DEVICE uint16_t DequantizeToBf16(uint8_t code, uint8_t scale);

// Round to nearest even, saturating at 448; NaN becomes 0x7F with the sign kept.
uint8_t FloatToE4m3(float value);
// Nearest power of two; a tie at 1.5*2^e goes to the even biased exponent. NaN becomes 255; zero and below become 0.
uint8_t FloatToE8m0(float value);

// codes [D], scales [D/32] -> out [D].
void DequantizeRow(absl::Span<const uint8_t> codes, absl::Span<const uint8_t> scales, absl::Span<uint16_t> out);

}  // namespace engram

#endif  // ENGRAM_MODEL_NUMBER_FORMATS_H_
