// Row content of docs/synthetic.md for rows of 256 codes, on the host and on the device; shares no code with `engram
// synth`. What the benchmark fills tables with, and what it holds answers against.

#ifndef ENGRAM_TESTS_GPU_BENCH_CONTENT_H_
#define ENGRAM_TESTS_GPU_BENCH_CONTENT_H_

#include <cstdint>
#include <vector>

#include "model/number_formats.h"
#include "shard/engine.h"

namespace engram::bench {

inline constexpr uint32_t kHeadDim = 256;
inline constexpr uint32_t kScales = kHeadDim / 32;
inline constexpr uint32_t kCodeWords = kHeadDim / 8;  // a row's codes, eight a word
inline constexpr uint32_t kPackedBytes = kHeadDim + kScales;
inline constexpr uint32_t kBf16Bytes = 2 * kHeadDim;
inline constexpr uint64_t kSeed = 1;
inline constexpr uint32_t kLayerIds[] = {1, 14};

constexpr uint32_t RowBytesOf(RowForm form) { return form == RowForm::kPacked ? kPackedBytes : kBf16Bytes; }

inline constexpr uint64_t kGolden = 0x9E3779B97F4A7C15u;

ENGRAM_HOST_DEVICE constexpr uint64_t Mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

constexpr uint64_t LayerKey(uint64_t seed, uint64_t layer_id) {
  return Mix(Mix(seed + kGolden) + (layer_id + 1) * kGolden);
}
ENGRAM_HOST_DEVICE constexpr uint64_t RowKey(uint64_t layer_key, uint64_t row) {
  return Mix(layer_key + (row + 1) * kGolden);
}
ENGRAM_HOST_DEVICE constexpr uint64_t Word(uint64_t row_key, uint64_t i) { return Mix(row_key + (i + 1) * kGolden); }

// Eight codes of a row, the first in the lowest byte: no NaN, and the first code of a row is no zero.
ENGRAM_HOST_DEVICE constexpr uint64_t CodesOf(uint64_t row_key, uint32_t word) {
  uint64_t codes = Word(row_key, word);
  for (uint32_t byte = 0; byte < 8; ++byte) {
    if ((codes >> 8 * byte & 0x7F) == 0x7F) codes -= uint64_t{1} << 8 * byte;
  }
  return word == 0 && (codes & 0x7F) == 0 ? codes | 0x38 : codes;
}

// All eight scales of a row.
ENGRAM_HOST_DEVICE constexpr uint64_t ScalesOf(uint64_t row_key) {
  return 0x7777777777777777u + (Word(row_key, kCodeWords) & 0x0F0F0F0F0F0F0F0Fu);  // 119 + 15 carries nothing
}

// A whole row in `form`. `negative_zeros`: false where a sum of bf16 has made them positive.
std::vector<uint8_t> RowOf(uint64_t layer_key, uint64_t row, RowForm form, bool negative_zeros = true);

}  // namespace engram::bench

#endif  // ENGRAM_TESTS_GPU_BENCH_CONTENT_H_
