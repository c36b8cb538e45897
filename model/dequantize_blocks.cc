#include "model/dequantize_blocks.h"

#include "model/number_formats.h"

namespace engram {
namespace {

// One block under a scale in [kPlainScaleMin, kPlainScaleMax], in 16-bit integers that compilers turn into vector code.
// The bits of a bf16 are a concave, piecewise linear function of an e4m3 magnitude m (each doubling of the value costs
// 128): slope 16 from m = 8 on, where the formats differ in bias and mantissa width only, and 32, 64, 128 over the
// subnormals 4..7, 2..3 and 1. So they are the least of four lines. All is exact, nothing rounds.
__attribute__((always_inline)) inline void DequantizePlainBlock(const uint8_t* __restrict codes, uint8_t scale,
                                                                uint16_t* __restrict out) {
  const int16_t bias = static_cast<int16_t>((scale - 7) * 128);
  for (size_t i = 0; i < kDequantizedBlock; ++i) {
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

__attribute__((always_inline)) inline void DequantizeEach(const uint8_t* codes, const uint8_t* scales, size_t blocks,
                                                          uint16_t* out) {
  for (size_t block = 0; block < blocks; ++block, codes += kDequantizedBlock, out += kDequantizedBlock) {
    const uint8_t scale = scales[block];
    if (scale >= kPlainScaleMin && scale <= kPlainScaleMax) {
      DequantizePlainBlock(codes, scale, out);
    } else {
      DequantizeEdgeBlock(codes, scale, out);
    }
  }
}

using BlocksFunction = void (*)(const uint8_t*, const uint8_t*, size_t, uint16_t*);

void DequantizeAnywhere(const uint8_t* codes, const uint8_t* scales, size_t blocks, uint16_t* out) {
  DequantizeEach(codes, scales, blocks, out);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) void DequantizeAvx2(const uint8_t* codes, const uint8_t* scales, size_t blocks,
                                                    uint16_t* out) {
  DequantizeEach(codes, scales, blocks, out);
}

BlocksFunction ChooseBlocksFunction() { return __builtin_cpu_supports("avx2") ? DequantizeAvx2 : DequantizeAnywhere; }
#else
BlocksFunction ChooseBlocksFunction() { return DequantizeAnywhere; }
#endif

}  // namespace

void DequantizeBlocks(const uint8_t* codes, const uint8_t* scales, size_t blocks, uint16_t* out) {
  static const BlocksFunction kDequantize = ChooseBlocksFunction();
  kDequantize(codes, scales, blocks, out);
}

void DequantizeEdgeBlock(const uint8_t* codes, uint8_t scale, uint16_t* out) {
  for (size_t i = 0; i < kDequantizedBlock; ++i) out[i] = DequantizeToBf16(codes[i], scale);
}

}  // namespace engram
