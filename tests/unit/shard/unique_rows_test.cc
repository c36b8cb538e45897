// Which rows of a round are there again, and the copies of them.

#include "shard/unique_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

#include "shard/row_plan.h"

namespace engram {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint32_t kHeadDim = 32;  // 33 bytes packed, 64 as bf16
constexpr std::byte kUntouched{'.'};

// Blocks with outputs, one behind the other; letters stand for whole rows.
class Blocks {
 public:
  void Add(size_t layer, RowForm form, std::vector<uint64_t> ids) {
    ids_.push_back(std::move(ids));
    const size_t width = form == RowForm::kPacked ? 33 : 64;
    memory_.emplace_back(ids_.back().size() * width, kUntouched);
    blocks_.push_back({layer, form, ids_.back(), memory_.back().data()});
    for (size_t i = 0; i < ids_.back().size(); ++i) rows_.push_back({memory_.back().data() + i * width, width});
  }

  void Fill(uint32_t request, char letter) {
    std::fill(rows_[request].begin(), rows_[request].end(), std::byte(letter));
  }
  std::string Letters() const {
    std::string letters;
    for (const absl::Span<std::byte>& row : rows_) {
      EXPECT_THAT(row, ::testing::Each(row[0]));
      letters += static_cast<char>(row[0]);
    }
    return letters;
  }
  absl::Span<const RowBlock> get() const { return blocks_; }

 private:
  std::deque<std::vector<uint64_t>> ids_;
  std::deque<std::vector<std::byte>> memory_;
  std::vector<RowBlock> blocks_;
  std::vector<absl::Span<std::byte>> rows_;
};

// What the blocks hold once the first places are filled with a, b, c... and the copies are made.
std::string Copied(const UniqueRows& unique, Blocks& blocks) {
  char letter = 'a';
  for (const uint32_t first : unique.firsts()) blocks.Fill(first, letter++);
  unique.CopyRepeats();
  return blocks.Letters();
}

TEST(UniqueRows, RepeatsWithinABlock) {
  Blocks blocks;
  blocks.Add(0, RowForm::kPacked, {7, 3, 7, 7, 9, 3});
  UniqueRows unique(kHeadDim);
  unique.Find(blocks.get());
  EXPECT_THAT(unique.entries(), ElementsAre(7, 3, 9));
  EXPECT_THAT(unique.firsts(), ElementsAre(0, 1, 4));
  EXPECT_EQ(Copied(unique, blocks), "abaacb");
}

TEST(UniqueRows, RepeatsAcrossBlocksOfOneLayerAndForm) {
  Blocks blocks;
  blocks.Add(0, RowForm::kPacked, {5, 6});
  blocks.Add(1, RowForm::kPacked, {5, 6});   // another layer
  blocks.Add(0, RowForm::kBf16, {6, 5, 6});  // another form
  blocks.Add(0, RowForm::kPacked, {});
  blocks.Add(0, RowForm::kPacked, {6, 8});
  UniqueRows unique(kHeadDim);
  unique.Find(blocks.get());
  EXPECT_THAT(unique.entries(), ElementsAre(5, 6, EntryOf(1, 5), EntryOf(1, 6), 6, 5, 8));
  EXPECT_THAT(unique.firsts(), ElementsAre(0, 1, 2, 3, 4, 5, 8));
  EXPECT_EQ(Copied(unique, blocks), "abcdefebg");
}

TEST(UniqueRows, ARoundLeavesNothingToTheNext) {
  Blocks many;
  many.Add(0, RowForm::kBf16, {1, 1, 1});
  Blocks one;
  one.Add(0, RowForm::kBf16, {1});
  UniqueRows unique(kHeadDim);
  unique.Find(many.get());
  unique.Find(one.get());
  EXPECT_THAT(unique.firsts(), ElementsAre(0));
  unique.CopyRepeats();
  EXPECT_EQ(many.Letters(), "...");
  unique.Find({});
  EXPECT_THAT(unique.entries(), IsEmpty());
  EXPECT_THAT(unique.firsts(), IsEmpty());
}

TEST(UniqueRows, ARowPlanIsMadeOfTheFirstRequests) {
  Blocks blocks;
  blocks.Add(0, RowForm::kPacked, {9, 0, 9, 4, 0, 8});
  blocks.Add(1, RowForm::kPacked, {5, 2, 5});
  UniqueRows unique(kHeadDim);
  unique.Find(blocks.get());
  RowPlan plan({10, 6}, 2);
  plan.Build(unique.entries(), unique.firsts());
  EXPECT_THAT(plan.EntriesOf(0), ElementsAre(0, 4, EntryOf(1, 2)));
  EXPECT_THAT(plan.RequestsOf(0), ElementsAre(1, 3, 7));
  EXPECT_THAT(plan.EntriesOf(1), ElementsAre(9, 8, EntryOf(1, 5)));
  EXPECT_THAT(plan.RequestsOf(1), ElementsAre(0, 5, 6));
}

}  // namespace
}  // namespace engram
