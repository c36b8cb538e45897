// Rows sorted by owner go back to the order of the requests, each block in its own form.

#include <algorithm>
#include <numeric>
#include <random>

#include "gmock/gmock.h"
#include "tests/gpu/kernel_fixture.h"

namespace engram {
namespace {

using ::testing::HasSubstr;

struct BlockCase {
  uint64_t requests;
  RowForm form;
  uint64_t offset;  // of its output, behind a multiple of 16
};

class Place : public KernelTest {
 protected:
  // Row i, of RowByte(0, i), is request number requests[i]; requests that no row has keep their poison.
  void Check(uint32_t head_dim, const std::vector<BlockCase>& cases, const std::vector<uint32_t>& requests) {
    std::vector<PlaceBlock> blocks;
    std::vector<Output> outs;
    uint64_t begin = 0;
    for (const BlockCase& block : cases) {
      outs.push_back(MakeOutput(block.requests * RowBytes(block.form, head_dim), block.offset));
      blocks.push_back({begin, block.form, outs.back().data});
      begin += block.requests;
    }
    PlaceArgs args;
    args.packed = MakePacked(requests.size(), head_dim);
    args.rows = requests.size();
    args.head_dim = head_dim;
    args.requests = Upload(requests);
    args.blocks = Upload(blocks);
    args.block_count = static_cast<uint32_t>(blocks.size());
    args.shape = ShapeOf(blocks);
    const absl::Status status = LaunchPlace(args, stream());
    ASSERT_TRUE(status.ok()) << status;
    begin = 0;
    for (size_t b = 0; b < cases.size(); begin += cases[b++].requests) {
      ASSERT_EQ(Read(outs[b]), PlacedByDefinition(head_dim, cases[b], begin, requests))
          << "head_dim " << head_dim << " block " << b;
    }
  }

  static std::vector<uint8_t> PlacedByDefinition(uint32_t head_dim, const BlockCase& block, uint64_t begin,
                                                 const std::vector<uint32_t>& requests) {
    std::vector<uint8_t> all;
    for (uint64_t request = begin; request < begin + block.requests; ++request) {
      const auto found = std::find(requests.begin(), requests.end(), request);
      std::vector<uint8_t> row(RowBytes(block.form, head_dim), kPoison);
      if (found != requests.end()) {
        row = RowByDefinition(block.form, 0, static_cast<uint64_t>(found - requests.begin()), head_dim);
      }
      all.insert(all.end(), row.begin(), row.end());
    }
    return all;
  }

  static std::vector<uint32_t> Shuffled(uint32_t count, uint64_t seed) {
    std::vector<uint32_t> requests(count);
    std::iota(requests.begin(), requests.end(), 0u);
    std::shuffle(requests.begin(), requests.end(), std::mt19937_64(seed));
    return requests;
  }
};

TEST_F(Place, OneBlockOfEitherFormAtEveryAlignment) {
  for (const uint32_t head_dim : {32u, 64u, 96u, 256u}) {
    for (const RowForm form : {RowForm::kPacked, RowForm::kBf16}) {
      for (uint64_t offset = 0; offset < 16; ++offset) {
        ASSERT_NO_FATAL_FAILURE(Check(head_dim, {{33, form, offset}}, Shuffled(33, offset)));
      }
    }
  }
}

TEST_F(Place, ManyBlocksEmptyOnesToo) {
  const std::vector<BlockCase> cases = {{0, RowForm::kBf16, 0},   {40, RowForm::kPacked, 0}, {24, RowForm::kBf16, 8},
                                        {0, RowForm::kPacked, 0}, {1, RowForm::kPacked, 8},  {0, RowForm::kBf16, 0},
                                        {135, RowForm::kBf16, 0}, {0, RowForm::kPacked, 0}};
  for (const uint32_t head_dim : {32u, 256u, 512u}) {
    ASSERT_NO_FATAL_FAILURE(Check(head_dim, cases, Shuffled(200, head_dim)));
  }
}

TEST_F(Place, EveryCount) {
  for (const uint32_t count : {0u, 1u, 2u, 31u, 32u, 33u, 1000u, 3000u}) {
    for (const RowForm form : {RowForm::kPacked, RowForm::kBf16}) {
      ASSERT_NO_FATAL_FAILURE(Check(256, {{count, form, 0}}, Shuffled(count, 1)));
    }
  }
}

// The rows of one owner only: the others' places are not touched, between them neither.
TEST_F(Place, SomeOfTheRequests) {
  std::vector<uint32_t> requests = Shuffled(100, 9);
  requests.resize(37);
  for (const uint32_t head_dim : {32u, 256u}) {
    ASSERT_NO_FATAL_FAILURE(Check(head_dim, {{50, RowForm::kPacked, 3}, {50, RowForm::kBf16, 0}}, requests));
  }
}

TEST_F(Place, RefusesAShapeThatKnowsNoBlock) {
  PlaceArgs args;
  args.packed = MakePacked(1, 32);
  args.rows = 1;
  args.head_dim = 32;
  args.requests = Upload(std::vector<uint32_t>{0});
  EXPECT_THAT(LaunchPlace(args, stream()).ToString(), HasSubstr("blocks is empty; there are 1 rows"));
  args.blocks = Upload(std::vector<PlaceBlock>(1));
  args.block_count = 1;
  EXPECT_THAT(LaunchPlace(args, stream()).ToString(), HasSubstr("shape knows no block: it must be ShapeOf(blocks)"));
}

TEST(ShapeOf, AlignmentIsOfAllOutputsTogether) {
  const auto at = [](uint64_t address) { return reinterpret_cast<uint8_t*>(address); };
  EXPECT_EQ(ShapeOf({}).alignment, 16u);
  EXPECT_EQ(ShapeOf({{0, RowForm::kPacked, at(0x1000)}}).alignment, 16u);
  EXPECT_EQ(ShapeOf({{0, RowForm::kPacked, at(0x1000)}, {1, RowForm::kPacked, at(0x1108)}}).alignment, 8u);
  EXPECT_EQ(ShapeOf({{0, RowForm::kPacked, at(0x1001)}, {1, RowForm::kPacked, at(0x1108)}}).alignment, 1u);
  EXPECT_FALSE(ShapeOf({{0, RowForm::kPacked, at(0x1000)}}).bf16);
  EXPECT_TRUE(ShapeOf({{0, RowForm::kBf16, at(0x1000)}}).bf16);
  EXPECT_FALSE(ShapeOf({{0, RowForm::kBf16, at(0x1000)}}).packed);
}

}  // namespace
}  // namespace engram
