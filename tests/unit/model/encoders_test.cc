#include <cmath>
#include <limits>

#include "gtest/gtest.h"
#include "model/number_formats.h"

namespace engram {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(FloatToE4m3, EveryCodeComesBack) {
  for (int code = 0; code < 256; ++code) EXPECT_EQ(FloatToE4m3(E4m3ToFloat(static_cast<uint8_t>(code))), code);
}

TEST(FloatToE4m3, LiteralKnownAnswers) {
  EXPECT_EQ(FloatToE4m3(1.0f), 0x38);
  EXPECT_EQ(FloatToE4m3(-1.0f), 0xB8);
  EXPECT_EQ(FloatToE4m3(448.0f), 0x7E);
  EXPECT_EQ(FloatToE4m3(449.0f), 0x7E);
  EXPECT_EQ(FloatToE4m3(1e30f), 0x7E);
  EXPECT_EQ(FloatToE4m3(-kInfinity), 0xFE);
  EXPECT_EQ(FloatToE4m3(432.0f), 0x7E);  // half way between 416 (0x7D) and 448
  EXPECT_EQ(FloatToE4m3(431.9f), 0x7D);
  EXPECT_EQ(FloatToE4m3(0.0f), 0x00);
  EXPECT_EQ(FloatToE4m3(-0.0f), 0x80);
  EXPECT_EQ(FloatToE4m3(0x1p-10f), 0x00);  // half of the smallest: to even
  EXPECT_EQ(FloatToE4m3(std::nextafter(0x1p-10f, 1.0f)), 0x01);
  EXPECT_EQ(FloatToE4m3(-0x1p-149f), 0x80);
  EXPECT_EQ(FloatToE4m3(7.5f * 0x1p-9f), 0x08);  // between the largest subnormal and the smallest normal code
  EXPECT_EQ(FloatToE4m3(FloatOfBits(0x7F800001)), 0x7F);
  EXPECT_EQ(FloatToE4m3(FloatOfBits(0xFFC00000)), 0xFF);
}

// Half way between two neighbours goes to the even code, a step to either side to the neighbour there.
TEST(FloatToE4m3, EveryTieGoesToEven) {
  for (int code = 0; code < 0x7E; ++code) {
    const float low = E4m3ToFloat(static_cast<uint8_t>(code));
    const float high = E4m3ToFloat(static_cast<uint8_t>(code + 1));
    const float tie = (low + high) / 2;
    const int even = code % 2 == 0 ? code : code + 1;
    EXPECT_EQ(FloatToE4m3(tie), even);
    EXPECT_EQ(FloatToE4m3(-tie), even | 0x80);
    EXPECT_EQ(FloatToE4m3(std::nextafter(tie, 0.0f)), code);
    EXPECT_EQ(FloatToE4m3(std::nextafter(tie, kInfinity)), code + 1);
  }
}

TEST(FloatToE8m0, EveryCodeComesBack) {
  for (int code = 0; code < 256; ++code) EXPECT_EQ(FloatToE8m0(E8m0ToFloat(static_cast<uint8_t>(code))), code);
}

TEST(FloatToE8m0, EveryTieGoesToTheEvenCode) {
  for (int code = 0; code < 254; ++code) {
    const float tie = static_cast<float>(std::ldexp(1.5, code - 127));
    EXPECT_EQ(FloatToE8m0(tie), code % 2 == 0 ? code : code + 1);
    EXPECT_EQ(FloatToE8m0(std::nextafter(tie, 0.0f)), code);
    EXPECT_EQ(FloatToE8m0(std::nextafter(tie, kInfinity)), code + 1);
  }
}

TEST(FloatToE8m0, Ends) {
  EXPECT_EQ(FloatToE8m0(0.0f), 0);
  EXPECT_EQ(FloatToE8m0(-0.0f), 0);
  EXPECT_EQ(FloatToE8m0(-5.0f), 0);
  EXPECT_EQ(FloatToE8m0(-kInfinity), 0);
  EXPECT_EQ(FloatToE8m0(0x1p-149f), 0);
  EXPECT_EQ(FloatToE8m0(std::numeric_limits<float>::max()), 254);
  EXPECT_EQ(FloatToE8m0(kInfinity), 255);
  EXPECT_EQ(FloatToE8m0(std::nanf("")), 255);
  EXPECT_EQ(FloatToE8m0(-std::nanf("")), 255);
}

}  // namespace
}  // namespace engram
