// A table's file that is cut short or rewritten under a running server.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#include "shard/load_meter.h"
#include "shard/table_factory.h"
#include "tests/unit/files/overwrite.h"
#include "tests/unit/shard/synthetic_tables.h"

namespace engram {
namespace {

constexpr uint32_t kHeadDim = 256;
constexpr uint64_t kRows = 1000;

class ChangedFile : public testing::Test {
 protected:
  ChangedFile() : checkpoint_(WriteSyntheticCheckpoint(folder_, FileLayout::kApart, kHeadDim, {kRows})) {}

  std::unique_ptr<Table> Open(Placement placement) {
    LoadMeter meter(0, nullptr, DeadlineAfter(absl::Hours(1)));
    absl::StatusOr<std::unique_ptr<Table>> table =
        MakeTable(placement, checkpoint_.tables[0], {0, kRows}, kHeadDim, meter);
    EXPECT_EQ(table.status(), absl::OkStatus());
    return *std::move(table);
  }

  absl::Status GatherLast(Table& table) {
    const std::vector<uint64_t> rows = {0, kRows - 1};
    return table.Gather(RowForm::kPacked, rows, {}, out_);
  }

  const std::string& codes() const { return checkpoint_.tables[0].codes.path; }

  TempFolder folder_;
  Checkpoint checkpoint_;
  std::byte out_[2 * (kHeadDim + kHeadDim / kScaleBlock)];
};

TEST_F(ChangedFile, CutShortUnderAMappingIsDataLoss) {
  const std::unique_ptr<Table> table = Open(Placement::kMapped);
  ASSERT_EQ(GatherLast(*table), absl::OkStatus());
  ASSERT_EQ(truncate(codes().c_str(), 4096), 0);
  for (int i = 0; i < 3; ++i) {  // each time: the guard is armed anew
    const absl::Status status = GatherLast(*table);
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr(codes()));
  }
}

TEST_F(ChangedFile, RewrittenUnderAMappingIsDataLoss) {
  const std::unique_ptr<Table> table = Open(Placement::kMapped);
  ASSERT_EQ(GatherLast(*table), absl::OkStatus());
  // The clock of a file system ticks in milliseconds.
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::fstream(codes(), std::ios::in | std::ios::out | std::ios::binary) << "other";
  EXPECT_EQ(GatherLast(*table).code(), absl::StatusCode::kDataLoss);
}

TEST_F(ChangedFile, RewrittenUnderItsOldTimeIsDataLoss) {
  const std::unique_ptr<Table> table = Open(Placement::kMapped);
  ASSERT_EQ(GatherLast(*table), absl::OkStatus());
  OverwriteKeepingTime(codes(), std::string(kRows * kHeadDim, '\0'));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(GatherLast(*table).code(), absl::StatusCode::kDataLoss);
}

TEST_F(ChangedFile, ReplacedUnlinkedOrOfAnotherModeItServesTheRowsItHad) {
  const std::unique_ptr<Table> table = Open(Placement::kMapped);
  const std::vector<std::byte> wanted =
      OracleRow(checkpoint_, 0, kRows - 1, RowForm::kPacked, CombineMode::kOwnerGather, 1);
  const auto expect_rows = [&] {
    ASSERT_EQ(GatherLast(*table), absl::OkStatus());
    EXPECT_EQ(std::memcmp(out_ + wanted.size(), wanted.data(), wanted.size()), 0);
  };
  std::filesystem::permissions(codes(), std::filesystem::perms::owner_read);
  expect_rows();
  std::ofstream(codes() + ".new") << std::string(kRows * kHeadDim, 'x');
  std::filesystem::rename(codes() + ".new", codes());
  expect_rows();
  std::filesystem::remove(checkpoint_.tables[0].scales.path);
  expect_rows();
}

TEST_F(ChangedFile, RowsInMemoryDoNotCare) {
  const std::unique_ptr<Table> table = Open(Placement::kHost);
  const std::vector<std::byte> wanted =
      OracleRow(checkpoint_, 0, kRows - 1, RowForm::kPacked, CombineMode::kOwnerGather, 1);
  ASSERT_EQ(truncate(codes().c_str(), 0), 0);
  ASSERT_EQ(GatherLast(*table), absl::OkStatus());
  EXPECT_EQ(std::memcmp(out_ + wanted.size(), wanted.data(), wanted.size()), 0);
}

}  // namespace
}  // namespace engram
