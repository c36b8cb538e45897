#include <gtest/gtest.h>

#include <cstdint>

#include "shard/engine.h"

namespace engram {
namespace {

void ExpectRange(uint64_t rows, size_t rank, size_t ranks, uint64_t begin, uint64_t end) {
  const ShardRange range = ShardOf(rows, rank, ranks);
  EXPECT_EQ(range.begin, begin) << rows << " rows, rank " << rank << " of " << ranks;
  EXPECT_EQ(range.end, end) << rows << " rows, rank " << rank << " of " << ranks;
}

TEST(ShardOf, DividesFullSizeTables) {
  ExpectRange(384006168, 0, 8, 0, 48000771);
  ExpectRange(384006168, 7, 8, 336005397, 384006168);
  ExpectRange(384016682, 1, 4, 96004171, 192008342);
  ExpectRange(384016682, 3, 4, 288012513, 384016682);  // two rows short
  ExpectRange(384006168, 0, 1, 0, 384006168);
}

TEST(ShardOf, LeavesSeveralTrailingShardsEmpty) {
  // ceil(10/7) = 2: ranks 0-4 own all ten.
  ExpectRange(10, 4, 7, 8, 10);
  ExpectRange(10, 5, 7, 10, 10);
  ExpectRange(10, 6, 7, 10, 10);
  ExpectRange(3, 2, 100, 2, 3);
  ExpectRange(3, 3, 100, 3, 3);
  ExpectRange(3, 99, 100, 3, 3);
}

TEST(ShardOf, SurvivesNumbersNearTheEndOf64Bits) {
  ExpectRange(UINT64_MAX, 0, 2, 0, uint64_t{1} << 63);
  ExpectRange(UINT64_MAX, 1, 2, uint64_t{1} << 63, UINT64_MAX);
  ExpectRange(UINT64_MAX, 5, 2, UINT64_MAX, UINT64_MAX);
}

TEST(ShardOf, RangesFollowEachOtherAndCoverTheTable) {
  for (uint64_t rows = 1; rows <= 40; ++rows) {
    for (size_t ranks = 1; ranks <= 50; ++ranks) {
      uint64_t next = 0;
      for (size_t rank = 0; rank < ranks; ++rank) {
        const ShardRange range = ShardOf(rows, rank, ranks);
        ASSERT_EQ(range.begin, next);
        ASSERT_LE(range.begin, range.end);
        next = range.end;
      }
      ASSERT_EQ(next, rows);
    }
  }
}

TEST(Serves, AllReduceOverBf16HasNoPackedRows) {
  EXPECT_FALSE(Serves(CombineMode::kAllReduceBf16, RowForm::kPacked));
  EXPECT_TRUE(Serves(CombineMode::kAllReduceBf16, RowForm::kBf16));
  EXPECT_TRUE(Serves(CombineMode::kAllReducePacked, RowForm::kPacked));
  EXPECT_TRUE(Serves(CombineMode::kOwnerGather, RowForm::kPacked));
  EXPECT_EQ(NameOf(CombineMode::kAllReduceBf16), "ALL_REDUCE_BF16");
  EXPECT_EQ(NameOf(CombineMode::kAllReducePacked), "ALL_REDUCE_PACKED");
  EXPECT_EQ(NameOf(CombineMode::kOwnerGather), "OWNER_GATHER");
  EXPECT_EQ(NameOf(Placement::kHost), "HOST");
  EXPECT_EQ(NameOf(Placement::kMapped), "MAPPED");
}

}  // namespace
}  // namespace engram
