#include "model/number_formats.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace engram {
namespace {

// Written from the definitions with doubles, sharing nothing with the library.
double SlowE4m3(int code) {
  const int exponent = (code >> 3) & 15;
  const int mantissa = code & 7;
  const double magnitude = exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
  return (code & 0x80) != 0 ? -magnitude : magnitude;
}

// Nearest bf16 of a double, ties to even, counting steps of the last place. All values here are exact in double.
uint16_t SlowBf16(double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  int exponent = 0;
  std::frexp(magnitude, &exponent);  // magnitude in [2^(exponent-1), 2^exponent)
  const int step = std::max(exponent - 8, -133);
  const double steps = std::nearbyint(std::ldexp(magnitude, -step));  // the default rounding is to nearest even
  if (std::ldexp(steps, step) >= std::ldexp(1.0, 128)) return sign | 0x7F80;
  // 128 steps is the smallest normal number of its exponent, fewer are subnormal; each exponent adds 128.
  return static_cast<uint16_t>(sign + static_cast<int>(steps) + 128 * (step + 133));
}

uint16_t SlowDequantize(int code, int scale) {
  if ((code & 0x7F) == 0x7F || scale == 255) return 0x7FC0;
  return SlowBf16(std::ldexp(SlowE4m3(code), scale - 127));
}

TEST(DequantizeToBf16, LiteralKnownAnswers) {
  struct Case {
    uint8_t code;
    uint8_t scale;
    uint16_t bf16;
  };
  constexpr Case kCases[] = {
      {0x38, 127, 0x3F80},  // 1 * 1
      {0x39, 127, 0x3F90},  // 1.125 * 1
      {0xB8, 128, 0xC000},  // -1 * 2
      {0x08, 127, 0x3C80},  // 2^-6, the smallest normal code
      {0x07, 127, 0x3C60},  // 7 * 2^-9, the largest subnormal code
      {0x00, 0, 0x0000},   {0x80, 0, 0x8000},   {0x80, 127, 0x8000},
      {0x80, 254, 0x8000}, {0x01, 0, 0x0000},                         // 2^-136 underflows
      {0x81, 0, 0x8000},                                              // and keeps its sign
      {0x04, 0, 0x0000},                                              // 2^-134, half of the smallest bf16: to even
      {0x05, 0, 0x0001},                                              // just above half
      {0x08, 0, 0x0001},                                              // 2^-133
      {0x0B, 0, 0x0001},                                              // 1.375 * 2^-133
      {0x0C, 1, 0x0003},                                              // 1.5 * 2^-132
      {0x01, 3, 0x0001},   {0x01, 9, 0x0040},   {0x01, 10, 0x0080},   // up to the smallest normal bf16
      {0x7E, 246, 0x7F60},                                            // 448 * 2^119
      {0x77, 247, 0x7F70},                                            // 240 * 2^120
      {0x78, 247, 0x7F80},                                            // 2^128 overflows
      {0x38, 254, 0x7F00}, {0x40, 254, 0x7F80}, {0x7E, 254, 0x7F80},  // 448 * 2^127
      {0xFE, 254, 0xFF80}, {0x7F, 5, 0x7FC0},   {0xFF, 5, 0x7FC0},
      {0x01, 255, 0x7FC0}, {0x80, 255, 0x7FC0}, {0x7F, 255, 0x7FC0},
  };
  for (const Case& c : kCases) {
    EXPECT_EQ(DequantizeToBf16(c.code, c.scale), c.bf16) << "code " << +c.code << " scale " << +c.scale;
  }
}

TEST(DequantizeToBf16, AllPairsEqualTheDefinition) {
  for (int scale = 0; scale < 256; ++scale) {
    for (int code = 0; code < 256; ++code) {
      ASSERT_EQ(DequantizeToBf16(static_cast<uint8_t>(code), static_cast<uint8_t>(scale)), SlowDequantize(code, scale))
          << "code " << code << " scale " << scale;
    }
  }
}

// FNV-1a over the little-endian results, codes inside scales; the literal was computed in Python with exact fractions.
TEST(DequantizeToBf16, AllPairsHaveTheKnownChecksum) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (int pair = 0; pair < 65536; ++pair) {
    const uint16_t bits = DequantizeToBf16(static_cast<uint8_t>(pair), static_cast<uint8_t>(pair >> 8));
    hash = (hash ^ (bits & 0xFF)) * 0x100000001b3u;
    hash = (hash ^ (bits >> 8)) * 0x100000001b3u;
  }
  EXPECT_EQ(hash, 0x06c291c100f50455u);
}

TEST(DequantizeRow, AllPairsAtEveryAlignment) {
  for (size_t shift = 0; shift < 3; ++shift) {
    std::vector<uint8_t> bytes(shift + 256);
    for (int i = 0; i < 256; ++i) bytes[shift + i] = static_cast<uint8_t>(i);
    const absl::Span<const uint8_t> codes = absl::MakeConstSpan(bytes).subspan(shift);
    for (int scale = 0; scale < 256; ++scale) {
      const std::vector<uint8_t> scales(8, static_cast<uint8_t>(scale));
      std::vector<uint16_t> out(256, 0x1234);
      DequantizeRow(codes, scales, absl::MakeSpan(out));
      for (int code = 0; code < 256; ++code) ASSERT_EQ(out[code], SlowDequantize(code, scale)) << code << " " << scale;
    }
  }
}

TEST(DequantizeRow, EachBlockHasItsOwnScale) {
  const std::vector<uint8_t> codes(96, 0x38);  // 1.0
  const std::vector<uint8_t> scales = {127, 255, 0};
  std::vector<uint16_t> out(96);
  DequantizeRow(codes, scales, absl::MakeSpan(out));
  EXPECT_EQ(out[0], 0x3F80);
  EXPECT_EQ(out[31], 0x3F80);
  EXPECT_EQ(out[32], 0x7FC0);
  EXPECT_EQ(out[63], 0x7FC0);
  EXPECT_EQ(out[64], 0x0040);
  EXPECT_EQ(out[95], 0x0040);
}

TEST(DequantizeRow, RefusesLengthsThatDoNotBelongTogether) {
  const std::vector<uint8_t> codes(64), scales(1);
  std::vector<uint16_t> out(64);
  EXPECT_DEATH(DequantizeRow(codes, scales, absl::MakeSpan(out)), "check failed");
}

TEST(E4m3, DecodesEveryCode) {
  for (int code = 0; code < 256; ++code) {
    const float value = E4m3ToFloat(static_cast<uint8_t>(code));
    if ((code & 0x7F) == 0x7F) {
      EXPECT_TRUE(std::isnan(value)) << code;
    } else {
      EXPECT_EQ(value, static_cast<float>(SlowE4m3(code))) << code;
      EXPECT_EQ(std::signbit(value), code >= 0x80) << code;
    }
  }
}

TEST(E8m0, DecodesEveryCode) {
  for (int code = 0; code < 255; ++code) {
    EXPECT_EQ(E8m0ToFloat(static_cast<uint8_t>(code)), static_cast<float>(std::ldexp(1.0, code - 127))) << code;
  }
  EXPECT_EQ(E8m0ToFloat(0), 0x1p-127f);
  EXPECT_TRUE(std::isnan(E8m0ToFloat(255)));
}

TEST(Bf16, RoundsToNearestEven) {
  EXPECT_EQ(FloatToBf16(FloatOfBits(0x3F808000)), 0x3F80);  // half way, even below
  EXPECT_EQ(FloatToBf16(FloatOfBits(0x3F818000)), 0x3F82);  // half way, odd below
  EXPECT_EQ(FloatToBf16(FloatOfBits(0x3F808001)), 0x3F81);
  EXPECT_EQ(FloatToBf16(FloatOfBits(0x3F807FFF)), 0x3F80);
  EXPECT_EQ(FloatToBf16(FloatOfBits(0x7F7FFFFF)), 0x7F80);  // the largest float
  EXPECT_EQ(FloatToBf16(-0.0f), 0x8000);
  EXPECT_EQ(FloatToBf16(-std::numeric_limits<float>::infinity()), 0xFF80);
  EXPECT_EQ(FloatToBf16(FloatOfBits(0x00008001)), 0x0001);  // subnormal
  EXPECT_EQ(FloatToBf16(FloatOfBits(0x7F800001)), 0x7FC0);  // a NaN whose upper half looks like infinity
  EXPECT_EQ(FloatToBf16(FloatOfBits(0xFFFFFFFF)), 0x7FC0);
}

TEST(Bf16, EveryPatternComesBack) {
  for (int bits = 0; bits < 65536; ++bits) {
    const uint16_t pattern = static_cast<uint16_t>(bits);
    const bool nan = (bits & 0x7FFF) > 0x7F80;
    EXPECT_EQ(FloatToBf16(Bf16ToFloat(pattern)), nan ? kBf16Nan : pattern);
  }
}

}  // namespace
}  // namespace engram
