// Tables on their way into memory: how much is held, what is said, what ends it. The bytes of small ones are
// table_contract's.

#include "shard/stream_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/unit/shard/synthetic_tables.h"

namespace engram {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Enough to be read past the page cache, in some 80 blocks.
constexpr uint64_t kRows = 20000;
constexpr uint32_t kHeadDim = 256;
constexpr uint32_t kWidth = kHeadDim + kHeadDim / kScaleBlock;

class LoadRowsTest : public testing::TestWithParam<FileLayout> {
 protected:
  LoadRowsTest()
      : checkpoint_(WriteSyntheticCheckpoint(folder_, GetParam(), kHeadDim, {kRows})), rows_(kRows * kWidth) {}

  absl::Status Load(std::function<void(const LoadProgress&)> progress = nullptr, Deadline deadline = Deadline::max()) {
    LoadMeter meter(kRows * kWidth, std::move(progress), deadline,
                    [this](const std::string& line) { notes_.push_back(line); });
    TableSource source = TableSource::Open(checkpoint_.tables[0], {0, kRows}, kHeadDim).value();
    return LoadRows(source, {0, kRows}, {rows_.data(), kWidth, rows_.data() + kHeadDim, kWidth}, meter);
  }

  const std::string& codes() const { return checkpoint_.tables[0].codes.path; }

  const TempFolder folder_;
  const Checkpoint checkpoint_;
  std::vector<std::byte> rows_;
  std::vector<std::string> notes_;
};

TEST_P(LoadRowsTest, PutsEveryByteInItsPlace) {
  uint64_t done = 0;
  ASSERT_EQ(Load([&done](const LoadProgress& progress) { done = progress.bytes_done; }), absl::OkStatus());
  EXPECT_EQ(done, kRows * kWidth);
  for (uint64_t row = 0; row < kRows; ++row) {
    for (size_t at = 0; at < kWidth; ++at) {
      ASSERT_EQ(static_cast<uint8_t>(rows_[row * kWidth + at]), SyntheticByte(0, row, at)) << at << " of row " << row;
    }
  }
}

TEST_P(LoadRowsTest, CutShortMeanwhileIsDataLoss) {
  const absl::Status status = Load([this](const LoadProgress&) { std::filesystem::resize_file(codes(), 5000); });
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr(codes()));
}

// Noticed at the end: the bytes that were read may be of either kind.
TEST_P(LoadRowsTest, RewrittenMeanwhileIsDataLoss) {
  const absl::Status status = Load([this](const LoadProgress&) {
    std::filesystem::last_write_time(codes(), std::filesystem::file_time_type::clock::now() + std::chrono::hours(1));
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("was written to while in use"));
}

TEST_P(LoadRowsTest, EndsAfterTheBlockInWhichItsTimeIsOver) {
  uint64_t blocks = 0;
  const auto status = Load([&blocks](const LoadProgress&) { ++blocks; }, DeadlineAfter(-absl::Seconds(1)));
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(blocks, 1u);
}

INSTANTIATE_TEST_SUITE_P(All, LoadRowsTest,
                         testing::Values(FileLayout::kApart, FileLayout::kPacked, FileLayout::kSpaced));

TableSource SourceOf(const TempFolder& folder, FileLayout layout, uint64_t rows) {
  const Checkpoint checkpoint = WriteSyntheticCheckpoint(folder, layout, kHeadDim, {rows});
  return TableSource::Open(checkpoint.tables[0], {0, rows}, kHeadDim).value();
}

TEST(BlockSizeTest, AllBlocksAreASixteenthOfTheRowsAtMost) {
  const TempFolder folder;
  for (const FileLayout layout : {FileLayout::kApart, FileLayout::kPacked, FileLayout::kSpaced}) {
    const TableSource source = SourceOf(folder, layout, 1);  // only where rows lie counts, not whether they are there
    for (const uint64_t rows : {64, 1000, 16000, 100000, 1000000, 384006168}) {
      const BlockSize size = BlockSizeFor(source, rows, 4);
      EXPECT_EQ(size.direct, rows >= 16000) << rows;
      EXPECT_GE(size.rows, 1u);
      EXPECT_LE(4 * RoomFor(FilesOf(source, {}, size.direct), size.rows), rows * kWidth / 16) << rows << " rows";
    }
    EXPECT_EQ(BlockSizeFor(source, 1, 4).rows, 1u);
    EXPECT_EQ(BlockSizeFor(source, 63, 4).rows, 1u);
  }
}

// 8 MiB less four sectors, by 264 or 270 bytes.
TEST(BlockSizeTest, LargeTablesComeInBlocksOfEightMebibytes) {
  const TempFolder folder;
  EXPECT_EQ(BlockSizeFor(SourceOf(folder, FileLayout::kApart, 1), 384006168, 4).rows, 31712u);
  EXPECT_EQ(BlockSizeFor(SourceOf(folder, FileLayout::kSpaced, 1), 384006168, 4).rows, 31008u);
}

TEST(NoteRefusalsTest, OneLineHoweverManyFiles) {
  const absl::StatusOr<File> file = File::Open("/sys/kernel/notes");  // of a file system without O_DIRECT
  if (!file.ok()) GTEST_SKIP() << file.status();
  std::vector<std::string> notes;
  LoadMeter meter(0, nullptr, Deadline::max(), [&notes](const std::string& line) { notes.push_back(line); });
  std::vector<FileRows> files(2);
  for (FileRows& rows : files) rows.file = std::make_unique<DirectFile>(*file, false);
  NoteRefusals(files, meter);
  EXPECT_THAT(notes, IsEmpty());
  for (FileRows& rows : files) rows.file = std::make_unique<DirectFile>(*file, true);
  NoteRefusals(files, meter);
  NoteRefusals(files, meter);
  EXPECT_THAT(notes, ElementsAre("/sys/kernel/notes: rows are loaded through the page cache, O_DIRECT says: "
                                 "Invalid argument"));
}

}  // namespace
}  // namespace engram
