// One suite for every placement: every layout of files that there is, rows of every alignment.

#include "tests/contract/table_contract.h"

#include <gmock/gmock.h>

#include <cstring>
#include <numeric>
#include <string>
#include <vector>

namespace engram {

namespace {

using ::testing::HasSubstr;

LoadMeter Unhurried() { return LoadMeter(0, nullptr, DeadlineAfter(absl::Hours(1))); }

std::string Packed(size_t layer, uint64_t row, uint32_t head_dim) {
  std::string bytes;
  for (size_t at = 0; at < head_dim + head_dim / kScaleBlock; ++at)
    bytes += static_cast<char>(SyntheticByte(layer, row, at));
  return bytes;
}

}  // namespace

void TableContract::SetUp() {
  if (const std::string missing = MissingForTables(); missing != "") GTEST_SKIP() << missing;
}

std::unique_ptr<Table> TableContract::Open(uint64_t rows, ShardRange range) {
  checkpoint_ = WriteSyntheticCheckpoint(folder_, layout(), head_dim(), {rows});
  LoadMeter meter = Unhurried();
  absl::StatusOr<std::unique_ptr<Table>> table =
      MakeTableOfTest(placement(), checkpoint_.tables[0], range, head_dim(), meter);
  EXPECT_EQ(table.status(), absl::OkStatus());
  return table.ok() ? *std::move(table) : nullptr;
}

namespace {

TEST_P(TableContract, GatherEveryRowPacked) {
  const std::unique_ptr<Table> table = Open(101, {30, 81});
  ASSERT_NE(table, nullptr);
  const size_t width = head_dim() + head_dim() / kScaleBlock;
  std::vector<uint64_t> rows(51);
  std::iota(rows.begin(), rows.end(), 30);
  std::vector<std::byte> out(rows.size() * width);
  ASSERT_EQ(table->Gather(RowForm::kPacked, rows, {}, out.data()), absl::OkStatus());
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::string wanted = Packed(0, rows[i], head_dim());
    ASSERT_EQ(std::memcmp(out.data() + i * width, wanted.data(), width), 0) << "row " << rows[i];
  }
}

TEST_P(TableContract, GatherIntoSlotsUnalignedAndLeaveTheOthersAlone) {
  const std::unique_ptr<Table> table = Open(101, {0, 101});
  ASSERT_NE(table, nullptr);
  for (RowForm form : {RowForm::kPacked, RowForm::kBf16}) {
    const size_t width = OracleRow(checkpoint_, 0, 0, form, CombineMode::kOwnerGather, 1).size();
    std::vector<std::byte> out(1 + 5 * width, std::byte{0xEE});
    const std::vector<uint64_t> rows = {100, 0, 57};
    const std::vector<uint32_t> slots = {4, 1, 2};
    ASSERT_EQ(table->Gather(form, rows, slots, out.data() + 1), absl::OkStatus());
    for (size_t i = 0; i < rows.size(); ++i) {
      const std::vector<std::byte> wanted = OracleRow(checkpoint_, 0, rows[i], form, CombineMode::kOwnerGather, 1);
      EXPECT_EQ(std::memcmp(out.data() + 1 + slots[i] * width, wanted.data(), width), 0);
    }
    const std::vector<std::byte> untouched(width, std::byte{0xEE});
    EXPECT_EQ(std::memcmp(out.data() + 1, untouched.data(), width), 0);
    EXPECT_EQ(std::memcmp(out.data() + 1 + 3 * width, untouched.data(), width), 0);
  }
}

TEST_P(TableContract, MoreRowsThanAChunkAndNone) {
  const std::unique_ptr<Table> table = Open(700, {0, 700});
  ASSERT_NE(table, nullptr);
  const size_t width = head_dim() + head_dim() / kScaleBlock;
  std::vector<uint64_t> rows(700);
  std::vector<uint32_t> slots(700);
  for (uint32_t i = 0; i < 700; ++i) rows[i] = slots[i] = (i * 367) % 700;
  std::vector<std::byte> out(rows.size() * width);
  ASSERT_EQ(table->Gather(RowForm::kPacked, rows, slots, out.data()), absl::OkStatus());
  for (uint64_t row = 0; row < 700; ++row) {
    ASSERT_EQ(std::memcmp(out.data() + row * width, Packed(0, row, head_dim()).data(), width), 0) << "row " << row;
  }
  EXPECT_EQ(table->Gather(RowForm::kPacked, {}, {}, nullptr), absl::OkStatus());
}

TEST_P(TableContract, AShardBehindTheLastRowIsEmpty) {
  const std::unique_ptr<Table> table = Open(3, ShardOf(3, 5, 7));
  ASSERT_NE(table, nullptr);
  EXPECT_FALSE(table->Owns(3));
  EXPECT_EQ(table->Gather(RowForm::kBf16, {}, {}, nullptr), absl::OkStatus());
}

TEST_P(TableContract, AFileThatEndsBeforeTheLastRowIsRefused) {
  ASSERT_NE(Open(20, {0, 20}), nullptr);
  const std::string path = checkpoint_.tables[0].codes.path;
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - head_dim() / kScaleBlock - 4);
  LoadMeter meter = Unhurried();
  const auto last = MakeTableOfTest(placement(), checkpoint_.tables[0], {10, 20}, head_dim(), meter);
  EXPECT_EQ(last.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(last.status().message()), HasSubstr("row 19"));
  EXPECT_EQ(MakeTableOfTest(placement(), checkpoint_.tables[0], {0, 10}, head_dim(), meter).status(), absl::OkStatus());
}

TEST_P(TableContract, WidthsAndRangesMustFitTheGeometry) {
  ASSERT_NE(Open(20, {0, 20}), nullptr);
  LoadMeter meter = Unhurried();
  const auto wide = MakeTableOfTest(placement(), checkpoint_.tables[0], {0, 20}, head_dim() + kScaleBlock, meter);
  EXPECT_EQ(wide.status().code(), absl::StatusCode::kFailedPrecondition);
  const auto beyond = MakeTableOfTest(placement(), checkpoint_.tables[0], {0, 21}, head_dim(), meter);
  EXPECT_EQ(beyond.status().code(), absl::StatusCode::kFailedPrecondition);
  TableFiles hostile = checkpoint_.tables[0];
  hostile.codes.stride = hostile.scales.stride = UINT64_MAX / 2;
  EXPECT_EQ(MakeTableOfTest(placement(), hostile, {0, 20}, head_dim(), meter).status().code(),
            absl::StatusCode::kDataLoss);
}

TEST_P(TableContract, LoadingCountsEveryByteOfTheShard) {
  checkpoint_ = WriteSyntheticCheckpoint(folder_, layout(), head_dim(), {101});
  uint64_t done = 0;
  LoadMeter meter(
      7777,
      [&](const LoadProgress& progress) {
        EXPECT_EQ(progress.bytes_total, 7777u);
        EXPECT_GT(progress.bytes_done, done);
        done = progress.bytes_done;
      },
      DeadlineAfter(absl::Hours(1)));
  ASSERT_EQ(MakeTableOfTest(placement(), checkpoint_.tables[0], {1, 101}, head_dim(), meter).status(),
            absl::OkStatus());
  EXPECT_EQ(done, 100u * (head_dim() + head_dim() / kScaleBlock));
}

TEST_P(TableContract, ALoadThatTakesTooLongEnds) {
  checkpoint_ = WriteSyntheticCheckpoint(folder_, layout(), head_dim(), {101});
  LoadMeter meter(1, nullptr, DeadlineAfter(-absl::Seconds(1)));
  const auto table = MakeTableOfTest(placement(), checkpoint_.tables[0], {0, 101}, head_dim(), meter);
  EXPECT_EQ(table.status().code(), absl::StatusCode::kDeadlineExceeded);
}

}  // namespace
}  // namespace engram
