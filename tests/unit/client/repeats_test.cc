#include "client/tool/repeats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "client/tool/oracle.h"
#include "tests/golden/golden_case.h"

namespace engram {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Checkpoint Medium() {
  absl::StatusOr<Checkpoint> checkpoint =
      OpenCheckpoint(GoldenPath("medium_checkpoint"), GoldenPath("medium_constants.gguf"));
  EXPECT_TRUE(checkpoint.ok()) << checkpoint.status();
  return *std::move(checkpoint);
}

// One token again and again: at its n-th place an n-gram has no pad left, and all later ones are the same.
TEST(Repeats, OneTokenHasAsManyDifferentNgramsAsTheirOrder) {
  const Checkpoint checkpoint = Medium();
  ASSERT_EQ(checkpoint.geometry.max_ngram_size, 4u);
  const uint64_t heads = checkpoint.geometry.heads;
  const std::vector<RepeatCounts> lines = CountRepeats(checkpoint, {{"", "", std::vector<uint32_t>(10, 7), {}}});
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].name, "a whole text");
  EXPECT_EQ(lines[0].windows, 1u);
  EXPECT_EQ(lines[0].rows, 10 * 3 * heads);
  EXPECT_THAT(lines[0].unique, ElementsAre(2 * heads, 3 * heads, 4 * heads));
  EXPECT_DOUBLE_EQ(lines[0].ratio(), 9.0 / 30);
}

// Against sets of row ids that are worked out in the plainest way.
TEST(Repeats, WindowsAndDecodeStepsAreCountedByThemselves) {
  const Checkpoint checkpoint = Medium();
  std::vector<TokenSequence> texts(2);
  for (uint32_t i = 0; i < 400; ++i) texts[0].tokens.push_back(i * i % 11);
  for (uint32_t i = 0; i < 30; ++i) texts[1].tokens.push_back(i % 3);
  texts[0].mask.assign(400, 1);
  texts[0].mask[200] = 0;
  const std::vector<RepeatCounts> lines = CountRepeats(checkpoint, texts);
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines[0].name, "165 tokens");
  EXPECT_EQ(lines[0].windows, 4u);  // 165 + 165 + 70, and 30
  EXPECT_EQ(lines[1].name, "a whole text");
  EXPECT_EQ(lines[2].name, "decode, 16 sequences");
  EXPECT_EQ(lines[2].windows, 430u / 16);
  EXPECT_EQ(lines[4].name, "decode, 256 sequences");
  EXPECT_EQ(lines[4].rows, 256u * checkpoint.geometry.columns());

  uint64_t unique = 0;
  for (const TokenSequence& text : texts) {
    std::vector<int32_t> window;
    for (size_t i = 0; i < text.tokens.size(); ++i) {
      const bool dead = !text.mask.empty() && text.mask[i] == 0;
      window.push_back(dead ? -1 : checkpoint.constants.token_map[text.tokens[i]]);
    }
    std::set<uint64_t> rows;
    for (size_t i = 0; i < window.size(); ++i) {
      for (const uint64_t row : PlainRowIds(checkpoint.geometry, checkpoint.constants, 0, window, i, i))
        rows.insert(row);
    }
    unique += rows.size();
  }
  EXPECT_EQ(lines[1].unique_rows(), unique);
}

TEST(Repeats, TheTableSaysWhatAFrameHasOfItsBytes) {
  Geometry geometry;
  geometry.max_ngram_size = 3;
  geometry.head_dim = 256;
  RepeatCounts counts;
  counts.name = "165 tokens";
  counts.windows = 2;
  counts.rows = 1000;
  counts.unique = {150, 350};
  counts.spent = absl::Microseconds(5);
  // 0.5 + 4/264 and 0.5 + 4/512; 5 ns a row for 0.485 * 264 bytes.
  EXPECT_THAT(RepeatTable({counts}, geometry),
              HasSubstr("165 tokens                    2        1000     0.300     0.700     0.500   0.515   0.508"
                        "     5.0       25.6\n"));
}

}  // namespace
}  // namespace engram
