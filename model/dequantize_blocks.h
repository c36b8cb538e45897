// Many codes at a time to bf16: what is behind DequantizeRow.

#ifndef ENGRAM_MODEL_DEQUANTIZE_BLOCKS_H_
#define ENGRAM_MODEL_DEQUANTIZE_BLOCKS_H_

#include <cstddef>
#include <cstdint>

namespace engram {

inline constexpr size_t kDequantizedBlock = 32;  // codes under one scale

// Between these no result of a block is subnormal or overflows: 2^-9 * 2^(10-127) is the smallest normal number and
// 448 * 2^(246-127) lies below 2^128.
inline constexpr uint8_t kPlainScaleMin = 10;
inline constexpr uint8_t kPlainScaleMax = 246;

// codes [32 * blocks], scales [blocks] -> out [32 * blocks]; `out` overlaps neither. No alignment is assumed of the
// bytes. Both are equal to DequantizeToBf16 of every pair, for every scale.

// In loops that compilers turn into vector code, one for any processor and one for AVX2.
void DequantizeBlocks(const uint8_t* codes, const uint8_t* scales, size_t blocks, uint16_t* out);
// By Highway, with the widest vectors that this processor has. Not there without ENGRAM_WITH_HIGHWAY.
void DequantizeBlocksAsVectors(const uint8_t* codes, const uint8_t* scales, size_t blocks, uint16_t* out);

// A block under a scale outside of [kPlainScaleMin, kPlainScaleMax].
void DequantizeEdgeBlock(const uint8_t* codes, uint8_t scale, uint16_t* out);

}  // namespace engram

#endif  // ENGRAM_MODEL_DEQUANTIZE_BLOCKS_H_
