#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "shard/file_window.h"
#include "shard/load_meter.h"
#include "shard/table_factory.h"
#include "tests/unit/shard/synthetic_tables.h"

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

// Every placement reads every layout; 33-byte rows at odd offsets keep nothing aligned.
class Tables : public testing::TestWithParam<std::tuple<Placement, FileLayout, uint32_t>> {
 protected:
  static Placement placement() { return std::get<0>(GetParam()); }
  static uint32_t head_dim() { return std::get<2>(GetParam()); }

  std::unique_ptr<Table> Open(uint64_t rows, ShardRange range) {
    checkpoint_ = WriteSyntheticCheckpoint(folder_, std::get<1>(GetParam()), head_dim(), {rows});
    LoadMeter meter = Unhurried();
    absl::StatusOr<std::unique_ptr<Table>> table =
        MakeTable(placement(), checkpoint_.tables[0], range, head_dim(), meter);
    EXPECT_EQ(table.status(), absl::OkStatus());
    return table.ok() ? *std::move(table) : nullptr;
  }

  TempFolder folder_;
  Checkpoint checkpoint_;
};

TEST_P(Tables, GatherEveryRowPacked) {
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

TEST_P(Tables, GatherIntoSlotsUnalignedAndLeaveTheOthersAlone) {
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

TEST_P(Tables, MoreRowsThanAChunkAndNone) {
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

TEST_P(Tables, AShardBehindTheLastRowIsEmpty) {
  const std::unique_ptr<Table> table = Open(3, ShardOf(3, 5, 7));
  ASSERT_NE(table, nullptr);
  EXPECT_FALSE(table->Owns(3));
  EXPECT_EQ(table->Gather(RowForm::kBf16, {}, {}, nullptr), absl::OkStatus());
}

TEST_P(Tables, AFileThatEndsBeforeTheLastRowIsRefused) {
  ASSERT_NE(Open(20, {0, 20}), nullptr);
  const std::string path = checkpoint_.tables[0].codes.path;
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - head_dim() / kScaleBlock - 1);
  LoadMeter meter = Unhurried();
  const auto last = MakeTable(placement(), checkpoint_.tables[0], {10, 20}, head_dim(), meter);
  EXPECT_EQ(last.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(last.status().message()), HasSubstr("row 19"));
  EXPECT_EQ(MakeTable(placement(), checkpoint_.tables[0], {0, 10}, head_dim(), meter).status(), absl::OkStatus());
}

TEST_P(Tables, WidthsAndRangesMustFitTheGeometry) {
  ASSERT_NE(Open(20, {0, 20}), nullptr);
  LoadMeter meter = Unhurried();
  const auto wide = MakeTable(placement(), checkpoint_.tables[0], {0, 20}, head_dim() + kScaleBlock, meter);
  EXPECT_EQ(wide.status().code(), absl::StatusCode::kFailedPrecondition);
  const auto beyond = MakeTable(placement(), checkpoint_.tables[0], {0, 21}, head_dim(), meter);
  EXPECT_EQ(beyond.status().code(), absl::StatusCode::kFailedPrecondition);
  TableFiles hostile = checkpoint_.tables[0];
  hostile.codes.stride = hostile.scales.stride = UINT64_MAX / 2;
  EXPECT_EQ(MakeTable(placement(), hostile, {0, 20}, head_dim(), meter).status().code(), absl::StatusCode::kDataLoss);
}

TEST_P(Tables, LoadingCountsEveryByteOfTheShard) {
  checkpoint_ = WriteSyntheticCheckpoint(folder_, std::get<1>(GetParam()), head_dim(), {101});
  uint64_t done = 0;
  LoadMeter meter(
      7777,
      [&](const LoadProgress& progress) {
        EXPECT_EQ(progress.bytes_total, 7777u);
        EXPECT_GT(progress.bytes_done, done);
        done = progress.bytes_done;
      },
      DeadlineAfter(absl::Hours(1)));
  ASSERT_EQ(MakeTable(placement(), checkpoint_.tables[0], {1, 101}, head_dim(), meter).status(), absl::OkStatus());
  EXPECT_EQ(done, 100u * (head_dim() + head_dim() / kScaleBlock));
}

TEST_P(Tables, ALoadThatTakesTooLongEnds) {
  checkpoint_ = WriteSyntheticCheckpoint(folder_, std::get<1>(GetParam()), head_dim(), {101});
  LoadMeter meter(1, nullptr, DeadlineAfter(-absl::Seconds(1)));
  const auto table = MakeTable(placement(), checkpoint_.tables[0], {0, 101}, head_dim(), meter);
  EXPECT_EQ(table.status().code(), absl::StatusCode::kDeadlineExceeded);
}

INSTANTIATE_TEST_SUITE_P(All, Tables,
                         testing::Combine(testing::Values(Placement::kHost, Placement::kMapped),
                                          testing::Values(FileLayout::kApart, FileLayout::kPacked),
                                          testing::Values(32u, 256u)));

// Asked for by tables whose rows come from a slow disk.
TEST(FileWindow, ReadAheadMayBeAskedOfEveryByte) {
  const TempFolder folder;
  const Checkpoint checkpoint = WriteSyntheticCheckpoint(folder, FileLayout::kApart, 32, {400});
  const absl::StatusOr<File> file = File::Open(checkpoint.tables[0].codes.path);
  ASSERT_EQ(file.status(), absl::OkStatus());
  const absl::StatusOr<FileWindow> window = FileWindow::Map(*file, 77 + 32, 399 * 32);
  ASSERT_EQ(window.status(), absl::OkStatus());
  for (uint64_t row = 1; row < 400; ++row) {
    window->ReadAhead((row - 1) * 32, 32);
    ASSERT_EQ(window->data()[(row - 1) * 32], SyntheticByte(0, row, 0));
  }
}

}  // namespace
}  // namespace engram
