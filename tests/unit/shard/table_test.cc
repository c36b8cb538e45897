#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

#include "shard/file_window.h"
#include "shard/gather_pool.h"
#include "shard/table_factory.h"
#include "tests/contract/table_contract.h"

namespace engram {

std::string MissingForTables() { return ""; }

absl::StatusOr<std::unique_ptr<Table>> MakeTableOfTest(Placement placement, const TableFiles& files, ShardRange range,
                                                       uint32_t head_dim, LoadMeter& meter) {
  // Tables must not outlive it.
  static GatherPool* const pool = [] {
    const char* threads = std::getenv("ENGRAM_TEST_GATHER_THREADS");
    return GatherPool::Start(threads == nullptr ? 1 : std::atoi(threads), 1)->release();
  }();
  return MakeTable(placement, files, range, head_dim, meter, nullptr, pool);
}

namespace {

INSTANTIATE_TEST_SUITE_P(OnTheHost, TableContract, EveryTable(Placement::kHost, Placement::kMapped));

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
