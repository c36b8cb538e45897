#include "client/tool/synth_rows.h"

#include <bit>
#include <cstddef>
#include <cstring>

namespace engram {
namespace {

static_assert(std::endian::native == std::endian::little, "words are stored little-endian");

constexpr uint64_t kGolden = 0x9E3779B97F4A7C15;

// The finaliser of SplitMix64.
uint64_t Mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

// Eight codes at once: 0x7F and 0xFF (NaN) become 0x7E and 0xFE.
uint64_t WithoutNan(uint64_t codes) {
  const uint64_t nan = ((codes & 0x7F7F7F7F7F7F7F7F) + 0x0101010101010101) & 0x8080808080808080;
  return codes ^ (nan >> 7);
}

}  // namespace

uint64_t SynthLayerKey(uint64_t seed, uint64_t layer_id) { return Mix(Mix(seed + kGolden) + (layer_id + 1) * kGolden); }

void SynthRow(uint64_t layer_key, uint64_t row, absl::Span<uint8_t> codes, absl::Span<uint8_t> scales) {
  uint64_t counter = Mix(layer_key + (row + 1) * kGolden);
  for (size_t i = 0; i < codes.size(); i += 8) {
    const uint64_t word = WithoutNan(Mix(counter += kGolden));
    std::memcpy(codes.data() + i, &word, 8);
  }
  if ((codes[0] & 0x7F) == 0) codes[0] |= 0x38;  // a hole in a sparse file reads as zeros: no row may look like one
  uint64_t word = 0;
  for (size_t i = 0; i < scales.size(); ++i) {
    if (i % 8 == 0) word = Mix(counter += kGolden);
    scales[i] = static_cast<uint8_t>(119 + (word >> (8 * (i % 8)) & 15));
  }
}

}  // namespace engram
