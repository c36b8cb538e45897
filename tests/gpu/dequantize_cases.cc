// Dequantisation of packed rows: all pairs of code and scale, at every alignment.

#include "tests/gpu/kernel_fixture.h"

namespace engram {
namespace {

class Dequantize : public KernelTest {
 protected:
  std::vector<uint16_t> Run(const std::vector<uint8_t>& packed, uint32_t head_dim, uint64_t offset) {
    DequantizeArgs args;
    args.packed = Upload(packed);
    args.head_dim = head_dim;
    args.rows = packed.size() / RowBytes(RowForm::kPacked, head_dim);
    const Output out = MakeOutput(args.rows * RowBytes(RowForm::kBf16, head_dim), offset);
    args.out = out.data;
    const absl::Status status = LaunchDequantize(args, stream());
    EXPECT_TRUE(status.ok()) << status;
    std::vector<uint16_t> values;
    const std::vector<uint8_t> bytes = Read(out);
    for (size_t i = 0; i < bytes.size(); i += 2) values.push_back(static_cast<uint16_t>(bytes[i] | bytes[i + 1] << 8));
    return values;
  }
};

// Row s: all codes under scale s.
std::vector<uint8_t> AllPairs() {
  std::vector<uint8_t> packed;
  for (int scale = 0; scale < 256; ++scale) {
    for (int code = 0; code < 256; ++code) packed.push_back(static_cast<uint8_t>(code));
    packed.insert(packed.end(), 8, static_cast<uint8_t>(scale));
  }
  return packed;
}

TEST_F(Dequantize, LiteralKnownAnswers) {
  struct Case {
    uint8_t code;
    uint8_t scale;
    uint16_t bf16;
  };
  constexpr Case kCases[] = {{0x38, 127, 0x3F80}, {0xB8, 128, 0xC000}, {0x08, 127, 0x3C80}, {0x07, 127, 0x3C60},
                             {0x80, 0, 0x8000},   {0x04, 0, 0x0000},   {0x05, 0, 0x0001},   {0x81, 0, 0x8000},
                             {0x0C, 1, 0x0003},   {0x01, 9, 0x0040},   {0x01, 10, 0x0080},  {0x7E, 246, 0x7F60},
                             {0x78, 247, 0x7F80}, {0xFE, 254, 0xFF80}, {0x7F, 5, 0x7FC0},   {0xFF, 127, 0x7FC0},
                             {0x80, 255, 0x7FC0}, {0x01, 255, 0x7FC0}, {0x7E, 127, 0x43E0}};
  const std::vector<uint16_t> values = Run(AllPairs(), 256, 0);
  ASSERT_EQ(values.size(), 65536u);
  for (const Case& c : kCases) EXPECT_EQ(values[c.scale * 256 + c.code], c.bf16) << +c.code << " " << +c.scale;
}

// FNV-1a over the little-endian results, codes inside scales; the literal was computed in Python with exact fractions.
TEST_F(Dequantize, AllPairsHaveTheKnownChecksum) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const uint16_t bits : Run(AllPairs(), 256, 0)) {
    hash = (hash ^ (bits & 0xFF)) * 0x100000001b3u;
    hash = (hash ^ (bits >> 8)) * 0x100000001b3u;
  }
  EXPECT_EQ(hash, 0x06c291c100f50455u);
}

TEST_F(Dequantize, AllPairsAtEveryAlignmentEqualTheDefinition) {
  for (uint64_t offset = 0; offset < 16; ++offset) {
    const std::vector<uint16_t> values = Run(AllPairs(), 256, offset);
    for (int pair = 0; pair < 65536; ++pair) {
      ASSERT_EQ(values[pair], DequantizeByDefinition(static_cast<uint8_t>(pair), static_cast<uint8_t>(pair >> 8)))
          << pair << " offset " << offset;
    }
  }
}

// A NaN makes the values beside it take the long way too; each block has its own scale.
TEST_F(Dequantize, OddRowsOfAnyContent) {
  for (const uint32_t head_dim : {32u, 64u, 96u, 128u, 512u}) {
    std::vector<uint8_t> packed;
    for (uint64_t row = 0; row < 100; ++row) {
      const std::vector<uint8_t> bytes = RowByDefinition(RowForm::kPacked, 0, row, head_dim);
      packed.insert(packed.end(), bytes.begin(), bytes.end());
    }
    const std::vector<uint16_t> values = Run(packed, head_dim, 0);
    for (uint64_t i = 0; i < values.size(); ++i) {
      const uint64_t row = i / head_dim;
      const uint64_t at = i % head_dim;
      ASSERT_EQ(values[i], DequantizeByDefinition(RowByte(0, row, at), RowByte(0, row, head_dim + at / 32)));
    }
  }
}

TEST_F(Dequantize, NothingToDo) { EXPECT_TRUE(Run({}, 256, 0).empty()); }

}  // namespace
}  // namespace engram
