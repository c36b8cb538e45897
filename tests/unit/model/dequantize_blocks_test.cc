// Every way there is to dequantise many codes at a time, on every kind of vectors that this machine has.

#include "model/dequantize_blocks.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "model/number_formats.h"

#if defined(ENGRAM_WITH_HIGHWAY)
#include "hwy/highway.h"
#endif

namespace engram {
namespace {

using BlocksFunction = void (*)(const uint8_t*, const uint8_t*, size_t, uint16_t*);

constexpr size_t kCodes = 256;

// Codes 0..255 under one scale, beginning at an odd place in bytes, and nothing written behind the last one.
void ExpectAllCodes(BlocksFunction dequantize, uint8_t scale, size_t shift) {
  std::vector<uint8_t> codes(shift + kCodes);
  for (size_t i = 0; i < kCodes; ++i) codes[shift + i] = static_cast<uint8_t>(i);
  const std::vector<uint8_t> scales(kCodes / kDequantizedBlock, scale);
  std::vector<uint16_t> out(kCodes + 1, 0x1234);
  dequantize(codes.data() + shift, scales.data(), scales.size(), out.data());
  for (size_t i = 0; i < kCodes; ++i) {
    ASSERT_EQ(out[i], DequantizeToBf16(static_cast<uint8_t>(i), scale)) << "code " << i << " scale " << +scale;
  }
  EXPECT_EQ(out[kCodes], 0x1234);
}

void ExpectAllPairs(BlocksFunction dequantize) {
  for (size_t shift = 0; shift < 3; ++shift) {
    for (int scale = 0; scale < 256; ++scale) {
      ASSERT_NO_FATAL_FAILURE(ExpectAllCodes(dequantize, static_cast<uint8_t>(scale), shift));
    }
  }
}

TEST(DequantizeBlocks, AllPairs) { ExpectAllPairs(DequantizeBlocks); }

TEST(DequantizeBlocks, LiteralKnownAnswersOfOneBlock) {
  // 0, the subnormals 1..7 (1 is 2^-9), 2^-6, 1, 448, NaN; then the same with the sign set; then zeros.
  const std::vector<uint8_t> magnitudes = {0x00, 1, 2, 3, 4, 5, 6, 7, 0x08, 0x38, 0x7E, 0x7F};
  const std::vector<uint16_t> bits = {0x0000, 0x3B00, 0x3B80, 0x3BC0, 0x3C00, 0x3C20,
                                      0x3C40, 0x3C60, 0x3C80, 0x3F80, 0x43E0, 0x7FC0};
  std::vector<uint8_t> codes(kDequantizedBlock);
  std::vector<uint16_t> wanted(kDequantizedBlock), out(kDequantizedBlock);
  for (size_t i = 0; i < magnitudes.size(); ++i) {
    codes[i] = magnitudes[i];
    codes[magnitudes.size() + i] = magnitudes[i] | 0x80;
    wanted[i] = bits[i];
    wanted[magnitudes.size() + i] = bits[i] == kBf16Nan ? kBf16Nan : bits[i] | 0x8000;
  }
  const uint8_t scale = 127;
  DequantizeBlocks(codes.data(), &scale, 1, out.data());
  EXPECT_EQ(out, wanted);
#if defined(ENGRAM_WITH_HIGHWAY)
  DequantizeBlocksAsVectors(codes.data(), &scale, 1, out.data());
  EXPECT_EQ(out, wanted);
#endif
}

#if defined(ENGRAM_WITH_HIGHWAY)

TEST(DequantizeBlocksAsVectors, AllPairsOnEveryTargetOfThisMachine) {
  const std::vector<int64_t> targets = hwy::SupportedAndGeneratedTargets();
  ASSERT_FALSE(targets.empty());
  for (const int64_t target : targets) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    EXPECT_NO_FATAL_FAILURE(ExpectAllPairs(DequantizeBlocksAsVectors));
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

// A NaN anywhere is found, whichever lane it lies in, and touches no other value.
TEST(DequantizeBlocksAsVectors, OneNanInARow) {
  const std::vector<uint8_t> scales(kCodes / kDequantizedBlock, 127);
  for (size_t at = 0; at < kCodes; ++at) {
    std::vector<uint8_t> codes(kCodes, 0x38);
    codes[at] = at % 2 == 0 ? 0x7F : 0xFF;
    std::vector<uint16_t> out(kCodes);
    DequantizeBlocksAsVectors(codes.data(), scales.data(), scales.size(), out.data());
    for (size_t i = 0; i < kCodes; ++i) ASSERT_EQ(out[i], i == at ? kBf16Nan : 0x3F80) << i << " of " << at;
  }
}

#endif

}  // namespace
}  // namespace engram
