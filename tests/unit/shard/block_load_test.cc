// Threads that load rows: every row once to its place, the first failure told, and no thread left behind.

#include "shard/block_load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "tests/unit/shard/synthetic_tables.h"

namespace engram {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

constexpr uint64_t kRows = 3000;
constexpr std::byte kUntouched{0xEE};

// Layout of the files, head_dim, past the page cache.
class BlockLoads : public testing::TestWithParam<std::tuple<FileLayout, uint32_t, bool>> {
 protected:
  BlockLoads()
      : checkpoint_(WriteSyntheticCheckpoint(folder_, std::get<0>(GetParam()), head_dim(), {kRows})),
        source_(TableSource::Open(checkpoint_.tables[0], {0, kRows}, head_dim()).value()),
        places_((kRows + 1) * width(), kUntouched),
        files_(FilesOf(source_, {places_.data(), width(), places_.data() + head_dim(), width()},
                       std::get<2>(GetParam()))) {}

  static uint32_t head_dim() { return std::get<1>(GetParam()); }
  static uint32_t width() { return head_dim() + head_dim() / kScaleBlock; }

  // Row `row` of the table, and untouched bytes behind the last one.
  void ExpectRows(ShardRange range) const {
    for (uint64_t row = range.begin; row < range.end; ++row) {
      const std::byte* place = places_.data() + (row - range.begin) * width();
      for (size_t at = 0; at < width(); ++at) {
        ASSERT_EQ(static_cast<uint8_t>(place[at]), SyntheticByte(0, row, at)) << "byte " << at << " of row " << row;
      }
    }
    const auto end = places_.begin() + static_cast<ptrdiff_t>((range.end - range.begin) * width());
    EXPECT_THAT(std::vector<std::byte>(end, end + width()), Each(kUntouched));
  }

  void ExpectAll(ShardRange range, uint64_t block_rows) {
    std::fill(places_.begin(), places_.end(), kUntouched);
    const auto load = BlockLoad::Start(files_, range, block_rows);
    ASSERT_EQ(load.status(), absl::OkStatus());
    uint64_t done = 0;
    while (done < range.end - range.begin) {
      const absl::StatusOr<uint64_t> more = (*load)->AwaitRows();
      ASSERT_EQ(more.status(), absl::OkStatus());
      ASSERT_GT(*more, 0u);
      done += *more;
    }
    EXPECT_EQ(done, range.end - range.begin);
    EXPECT_EQ(*(*load)->AwaitRows(), 0u);
    ExpectRows(range);
  }

  const TempFolder folder_;
  const Checkpoint checkpoint_;
  const TableSource source_;
  std::vector<std::byte> places_;
  const std::vector<FileRows> files_;
};

TEST_P(BlockLoads, PutEveryRowInItsPlace) {
  for (const uint64_t block_rows : {1, 7, 100, 101, 5000}) {
    ExpectAll({0, 101}, block_rows);
    ExpectAll({100, 101}, block_rows);
  }
  ExpectAll({0, kRows}, 97);
  ExpectAll({1, kRows}, kRows);
}

// What was begun is finished, and perhaps fails; that is nobody's business.
TEST_P(BlockLoads, NeedNotBeAwaited) {
  for (int taken = 0; taken < 4; ++taken) {
    const auto load = BlockLoad::Start(files_, {0, kRows}, 100);
    ASSERT_EQ(load.status(), absl::OkStatus());
    for (int i = 0; i < taken; ++i) ASSERT_EQ((*load)->AwaitRows().status(), absl::OkStatus());
  }
}

// All blocks from row 1234 on fail, in whatever order they are read.
TEST_P(BlockLoads, TellTheFirstFailure) {
  const RowStream& codes = source_.codes;
  const uint64_t end = codes.OffsetOf(1234);
  std::filesystem::resize_file(codes.file.path(), end);
  for (const uint64_t block_rows : {10, 100, 1000}) {
    const auto load = BlockLoad::Start(files_, {0, kRows}, block_rows);
    ASSERT_EQ(load.status(), absl::OkStatus());
    absl::StatusOr<uint64_t> rows = (*load)->AwaitRows();
    for (uint64_t done = 0; rows.ok() && done < 1234; rows = (*load)->AwaitRows()) done += *rows;
    EXPECT_EQ(rows.status().code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(rows.status().message()),
                HasSubstr(codes.file.path() + ": ends at offset " + std::to_string(end)));
    EXPECT_EQ((*load)->AwaitRows().status(), rows.status());
  }
}

INSTANTIATE_TEST_SUITE_P(All, BlockLoads,
                         testing::Combine(testing::Values(FileLayout::kApart, FileLayout::kPacked, FileLayout::kSpaced),
                                          testing::Values(32u, 96u, 256u), testing::Bool()));

}  // namespace
}  // namespace engram
