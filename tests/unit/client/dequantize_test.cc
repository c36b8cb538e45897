#include "client/dequantize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/tool/oracle.h"

namespace engram {
namespace {

using testing::HasSubstr;

v1::Geometry RowsOf64() {
  v1::Geometry geometry;
  geometry.set_head_dim(64);
  return geometry;
}

// Two rows of D = 64. Literal values: 0x38 is 1.0, 0xC0 is -2.0, 0x7E is 448, 0x01 is 2^-9, 0x80 is -0, 0x7F is NaN.
TEST(DequantizeTest, GivesTheLiteralValues) {
  std::vector<uint8_t> packed(2 * 66, 0x38);
  packed[0] = 0xC0;
  packed[1] = 0x7E;
  packed[2] = 0x01;
  packed[3] = 0x80;
  packed[4] = 0x7F;
  packed[64] = 127;  // 2^0 for values 0..31
  packed[65] = 130;  // 2^3 for values 32..63
  packed[66 + 64] = 255;
  packed[66 + 65] = 0;
  std::vector<uint16_t> values(2 * 64);
  ASSERT_TRUE(DequantizePacked(RowsOf64(), packed, absl::MakeSpan(values)).ok());
  EXPECT_EQ(values[0], 0xC000);
  EXPECT_EQ(values[1], 0x43E0);
  EXPECT_EQ(values[2], 0x3B00);
  EXPECT_EQ(values[3], 0x8000);
  EXPECT_EQ(values[4], 0x7FC0);
  EXPECT_EQ(values[31], 0x3F80);
  EXPECT_EQ(values[32], 0x4100);
  EXPECT_EQ(values[64], 0x7FC0) << "scale 255 is NaN";
  EXPECT_EQ(values[64 + 32], 0x0040) << "2^-127 is a subnormal bf16";
}

TEST(DequantizeTest, AgreesWithPlainArithmeticOnAllPairs) {
  std::vector<uint8_t> packed(66);
  std::vector<uint16_t> values(64);
  for (int scale = 0; scale < 256; ++scale) {
    packed[64] = packed[65] = static_cast<uint8_t>(scale);
    for (int first = 0; first < 256; first += 64) {
      for (int i = 0; i < 64; ++i) packed[static_cast<size_t>(i)] = static_cast<uint8_t>(first + i);
      ASSERT_TRUE(DequantizePacked(RowsOf64(), packed, absl::MakeSpan(values)).ok());
      for (size_t i = 0; i < 64; ++i) {
        ASSERT_EQ(values[i], PlainBf16(packed[i], packed[64])) << "code " << int{packed[i]} << ", scale " << scale;
      }
    }
  }
}

TEST(DequantizeTest, NamesWhatDoesNotFit) {
  std::vector<uint8_t> packed(66);
  std::vector<uint16_t> values(63);
  EXPECT_THAT(DequantizePacked(RowsOf64(), packed, absl::MakeSpan(values)).message(), HasSubstr("63 of 64"));
  packed.resize(65);
  EXPECT_THAT(DequantizePacked(RowsOf64(), packed, absl::MakeSpan(values)).message(), HasSubstr("65 bytes"));
  EXPECT_THAT(DequantizePacked(v1::Geometry(), packed, absl::MakeSpan(values)).message(), HasSubstr("head_dim 0"));
}

}  // namespace
}  // namespace engram
