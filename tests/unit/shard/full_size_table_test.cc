// Offsets beyond 32 bits: the last row of a full-size table in a file that is nearly all hole.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "shard/load_meter.h"
#include "shard/table_factory.h"
#include "tests/unit/shard/synthetic_tables.h"

namespace engram {
namespace {

constexpr uint64_t kRows = 384006168;
constexpr uint32_t kHeadDim = 256;
constexpr uint32_t kScales = 8;
constexpr uint64_t kOffset = 131;

// Rows on both sides of where row*256 leaves 31 and 32 bits, where a 32-bit byte offset wraps, and the last.
constexpr uint64_t kWritten[] = {0, 8388607, 8388608, 16777215, 16777216, 268435456, 384006166, 384006167};

class FullSizeTable : public testing::Test {
 protected:
  void SetUp() override {
    files_ = {kRows, {folder_ / "codes", kOffset, kHeadDim, kHeadDim}, {folder_ / "scales", kOffset, kScales, kScales}};
    if (!Write(files_.codes, 0) || !Write(files_.scales, kHeadDim)) {
      GTEST_SKIP() << "the file system of the temporary folder has no files of 98 GB with holes: " << strerror(errno);
    }
  }

  static bool Write(const StridedBytes& bytes, size_t first_at) {
    const int file = open(bytes.path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    bool good = file >= 0 && ftruncate(file, static_cast<off_t>(bytes.offset + kRows * bytes.stride)) == 0;
    for (uint64_t row : kWritten) {
      std::string record;
      for (size_t i = 0; i < bytes.width; ++i) record += static_cast<char>(SyntheticByte(0, row, first_at + i));
      const auto offset = static_cast<off_t>(bytes.offset + row * bytes.stride);
      good = good && pwrite(file, record.data(), record.size(), offset) == static_cast<ssize_t>(record.size());
    }
    if (file >= 0) close(file);
    return good;
  }

  void ExpectRows(Placement placement, ShardRange range) {
    LoadMeter meter(0, nullptr, DeadlineAfter(absl::Hours(1)));
    absl::StatusOr<std::unique_ptr<Table>> table = MakeTable(placement, files_, range, kHeadDim, meter);
    ASSERT_EQ(table.status(), absl::OkStatus());
    std::vector<uint64_t> rows;
    for (uint64_t row : kWritten) {
      if ((*table)->Owns(row)) rows.push_back(row);
    }
    ASSERT_FALSE(rows.empty());
    const size_t width = kHeadDim + kScales;
    std::vector<std::byte> out(rows.size() * width);
    ASSERT_EQ((*table)->Gather(RowForm::kPacked, rows, {}, out.data()), absl::OkStatus());
    for (size_t i = 0; i < rows.size(); ++i) {
      for (size_t at = 0; at < width; ++at) {
        ASSERT_EQ(static_cast<uint8_t>(out[i * width + at]), SyntheticByte(0, rows[i], at)) << "row " << rows[i];
      }
    }
  }

  TempFolder folder_;
  TableFiles files_;
};

TEST_F(FullSizeTable, MappedWhole) { ExpectRows(Placement::kMapped, {0, kRows}); }

TEST_F(FullSizeTable, MappedLastOfSeven) { ExpectRows(Placement::kMapped, ShardOf(kRows, 6, 7)); }

TEST_F(FullSizeTable, LastRowsInMemory) {
  // The last of a great many shards: few rows, far behind.
  ExpectRows(Placement::kHost, {384006000, kRows});
  ExpectRows(Placement::kHost, {16777000, 16778000});
}

}  // namespace
}  // namespace engram
