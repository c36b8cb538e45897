// Gathers shared by threads: the same bytes, and the same errors, at any number of them.

#include "shard/threaded_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "shard/table_factory.h"
#include "tests/unit/shard/synthetic_tables.h"

namespace engram {
namespace {

constexpr uint32_t kHeadDim = 96;
constexpr uint64_t kRows = 1000;

class Threads : public testing::TestWithParam<std::tuple<int, Placement>> {
 protected:
  Threads() : checkpoint_(WriteSyntheticCheckpoint(folder_, FileLayout::kApart, kHeadDim, {kRows})) {
    for (uint64_t i = 0; i < 4 * kRows; ++i) rows_.push_back(i * 367 % kRows);
    pool_ = *GatherPool::Start(std::get<0>(GetParam()), 10);
  }

  std::unique_ptr<Table> Open(GatherPool* pool) {
    LoadMeter meter(0, nullptr, DeadlineAfter(absl::Hours(1)));
    auto table = MakeTable(std::get<1>(GetParam()), checkpoint_.tables[0], {0, kRows}, kHeadDim, meter, nullptr, pool);
    EXPECT_EQ(table.status(), absl::OkStatus());
    return *std::move(table);
  }

  TempFolder folder_;
  Checkpoint checkpoint_;
  std::vector<uint64_t> rows_;
  std::unique_ptr<GatherPool> pool_;
};

TEST_P(Threads, WriteTheSameBytes) {
  const auto alone = Open(nullptr), shared = Open(pool_.get());
  std::vector<uint32_t> backwards;
  for (size_t i = rows_.size(); i-- > 0;) backwards.push_back(static_cast<uint32_t>(i));
  for (const RowForm form : {RowForm::kPacked, RowForm::kBf16}) {
    for (const size_t count : {size_t{0}, size_t{1}, size_t{19}, size_t{20}, size_t{333}, rows_.size()}) {
      for (const bool slots : {false, true}) {
        const auto ids = absl::MakeConstSpan(rows_).subspan(0, count);
        const auto places = slots ? absl::MakeConstSpan(backwards).subspan(0, count) : absl::Span<const uint32_t>();
        // An odd begin, and fences.
        std::vector<std::byte> wanted(1 + rows_.size() * RowWriter(kHeadDim).bytes(form) + 1, std::byte{0xEE});
        std::vector<std::byte> out = wanted;
        ASSERT_EQ(alone->Gather(form, ids, places, wanted.data() + 1), absl::OkStatus());
        ASSERT_EQ(shared->Gather(form, ids, places, out.data() + 1), absl::OkStatus());
        ASSERT_TRUE(out == wanted) << count << " rows";
      }
    }
  }
}

TEST_P(Threads, AFileCutShortIsDataLossEachTimeOrNoMatter) {
  const auto table = Open(pool_.get());
  std::vector<std::byte> out(rows_.size() * RowWriter(kHeadDim).packed_bytes());
  ASSERT_EQ(truncate(checkpoint_.tables[0].codes.path.c_str(), 4096), 0);
  for (int i = 0; i < 20; ++i) {
    const absl::Status status = table->Gather(RowForm::kPacked, rows_, {}, out.data());
    if (std::get<1>(GetParam()) == Placement::kHost) {
      EXPECT_EQ(status, absl::OkStatus());
    } else {
      EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
      EXPECT_THAT(std::string(status.message()), testing::HasSubstr(checkpoint_.tables[0].codes.path));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Threads,
                         testing::Combine(testing::Values(1, 2, 5),
                                          testing::Values(Placement::kHost, Placement::kMapped)));

// Fails from the row given on.
class FailingTable : public Table {
 public:
  using Table::Table;
  absl::Status Gather(RowForm, absl::Span<const uint64_t> rows, absl::Span<const uint32_t>, std::byte*) override {
    return rows.empty() || rows.front() < 40 ? absl::OkStatus() : absl::DataLossError(std::to_string(rows.front()));
  }
};

TEST(ThreadedTable, ReturnsTheErrorOfTheFirstPieceThatFails) {
  const auto pool = *GatherPool::Start(5, 1);
  ThreadedTable table(std::make_unique<FailingTable>(ShardRange{0, 100}), kHeadDim, *pool);
  std::vector<uint64_t> rows(100);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = i;
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(table.Gather(RowForm::kPacked, rows, {}, nullptr), absl::DataLossError("40"));
  }
  EXPECT_EQ(table.Gather(RowForm::kPacked, {}, {}, nullptr), absl::OkStatus());
  EXPECT_EQ(table.range().end, 100u);
}

}  // namespace
}  // namespace engram
