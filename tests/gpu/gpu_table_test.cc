// Tables that a GPU reads: the contract of all tables, and what is theirs alone. On a GPU and in the double.

#include "shard/gpu/gpu_table.h"

#include <gmock/gmock.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <vector>

#include "shard/gpu/cuda_backend.h"
#include "shard/table_factory.h"
#include "tests/contract/table_contract.h"
#include "tests/gpu/gpu_ranks.h"

namespace engram {

std::string MissingForTables() { return MissingDevices(1); }

// On the last device, which is seldom the current one.
absl::StatusOr<std::unique_ptr<Table>> MakeTableOfTest(Placement placement, const TableFiles& files, ShardRange range,
                                                       uint32_t head_dim, LoadMeter& meter) {
  static const auto* rank = new std::unique_ptr<GpuRank>(CudaBackend().Open(CountDevices().value() - 1).value());
  return MakeTable(placement, files, range, head_dim, meter, rank->get());
}

namespace {

using ::testing::HasSubstr;

INSTANTIATE_TEST_SUITE_P(OnTheGpu, TableContract, EveryTable(Placement::kDevice, Placement::kHostPinned));

using Progress = std::function<void(const LoadProgress&)>;

class GpuTables : public testing::TestWithParam<Placement> {
 protected:
  void SetUp() override { ENGRAM_SKIP_WITHOUT_DEVICES(1); }

  void Write(FileLayout layout, uint32_t head_dim, uint64_t rows) {
    checkpoint_ = WriteSyntheticCheckpoint(folder_, layout, head_dim, {rows});
  }

  absl::StatusOr<std::unique_ptr<Table>> Load(ShardRange range, int device = 0, Progress progress = nullptr) {
    const uint32_t head_dim = checkpoint_.geometry.head_dim;
    LoadMeter meter(0, std::move(progress), InAMinute());
    ENGRAM_ASSIGN_OR_RETURN(TableSource source, TableSource::Open(checkpoint_.tables[0], range, head_dim));
    return GpuTable::Load(GetParam(), std::move(source), range, device, meter);
  }

  void ExpectRow(Table& table, RowForm form, uint64_t row) {
    const std::vector<std::byte> wanted = OracleRow(checkpoint_, 0, row, form, CombineMode::kOwnerGather, 1);
    std::vector<std::byte> out(wanted.size());
    ASSERT_EQ(table.Gather(form, {row}, {}, out.data()), absl::OkStatus());
    EXPECT_EQ(out, wanted) << "row " << row;
  }

  const std::string& codes() const { return checkpoint_.tables[0].codes.path; }

  TempFolder folder_;
  Checkpoint checkpoint_;
};

TEST_P(GpuTables, CodesAndScalesLieApartAndAligned) {
  Write(FileLayout::kPacked, 32, 101);
  const std::unique_ptr<Table> table = Load({30, 81}).value();
  const DeviceRows* rows = table->device_rows();
  ASSERT_NE(rows, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(rows->codes) % 256, 0u);
  EXPECT_EQ(rows->scales - rows->codes, 1792);  // 51 rows of 32 codes, up to the next 256
  EXPECT_EQ(rows->begin, 30u);
  EXPECT_EQ(rows->end, 81u);
}

// A chunk is 1 MiB: 128 of these rows.
TEST_P(GpuTables, GatherInManyChunks) {
  Write(FileLayout::kApart, 4096, 300);
  const std::unique_ptr<Table> table = Load({0, 300}).value();
  for (RowForm form : {RowForm::kBf16, RowForm::kPacked}) {
    const size_t width = form == RowForm::kBf16 ? 8192 : 4224;
    std::vector<uint64_t> rows(300);
    std::vector<uint32_t> slots(300);
    for (uint32_t i = 0; i < 300; ++i) rows[i] = 299 - (slots[i] = (i * 7) % 300);
    std::vector<std::byte> out(300 * width);
    ASSERT_EQ(table->Gather(form, rows, slots, out.data()), absl::OkStatus());
    for (uint32_t i = 0; i < 300; i += 13) {
      const std::vector<std::byte> wanted = OracleRow(checkpoint_, 0, rows[i], form, CombineMode::kOwnerGather, 1);
      ASSERT_EQ(std::memcmp(out.data() + slots[i] * width, wanted.data(), width), 0) << "row " << rows[i];
    }
  }
}

TEST_P(GpuTables, EachDeviceHasItsOwn) {
  ENGRAM_SKIP_WITHOUT_DEVICES(2);
  Write(FileLayout::kPacked, 96, 100);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  const std::unique_ptr<Table> first = Load({0, 50}, 0).value();
  const std::unique_ptr<Table> second = Load({50, 100}, 1).value();
  for (uint64_t row : {0, 49, 7}) ExpectRow(*first, RowForm::kBf16, row);
  for (uint64_t row : {50, 99, 57}) ExpectRow(*second, RowForm::kBf16, row);
}

TEST_P(GpuTables, AFileCutShortMeanwhileIsDataLoss) {
  for (FileLayout layout : {FileLayout::kApart, FileLayout::kPacked}) {
    Write(layout, 32, 1000);
    const auto table =
        Load({0, 1000}, 0, [this](const LoadProgress&) { std::filesystem::resize_file(codes(), 20000); });
    EXPECT_EQ(table.status().code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(table.status().message()), HasSubstr(codes()));
  }
}

TEST_P(GpuTables, AFileThatGrowsAfterItsLastRowWasReadIsDataLoss) {
  Write(FileLayout::kApart, 32, 1000);
  const auto table = Load({0, 1000}, 0, [this](const LoadProgress& progress) {
    if (progress.bytes_done == 33000) std::ofstream(codes(), std::ios::app) << "more";
  });
  EXPECT_EQ(table.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(table.status().message()), HasSubstr(codes()));
}

TEST_P(GpuTables, RowsStayWhenTheFileGoes) {
  Write(FileLayout::kApart, 32, 10);
  const std::unique_ptr<Table> table = Load({0, 10}).value();
  const std::vector<std::byte> wanted = OracleRow(checkpoint_, 0, 9, RowForm::kPacked, CombineMode::kOwnerGather, 1);
  std::filesystem::resize_file(codes(), 0);
  std::vector<std::byte> out(33);
  ASSERT_EQ(table->Gather(RowForm::kPacked, {9}, {}, out.data()), absl::OkStatus());
  EXPECT_EQ(out, wanted);
}

std::string NameOfParam(const testing::TestParamInfo<Placement>& info) {
  return info.param == Placement::kDevice ? "Device" : "HostPinned";
}

INSTANTIATE_TEST_SUITE_P(Both, GpuTables, testing::Values(Placement::kDevice, Placement::kHostPinned), NameOfParam);

}  // namespace
}  // namespace engram
