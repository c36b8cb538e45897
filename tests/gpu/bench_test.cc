// The benchmark in the double: its figures mean nothing there, but every row of the document is made, and every answer
// is looked at.

#include <gmock/gmock.h>

#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "shard/gpu/cuda_backend.h"
#include "tests/gpu/bench/device_bench.h"
#include "tests/gpu/bench/engine_bench.h"
#include "tests/gpu/bench/engine_files.h"
#include "tests/gpu/bench/fill.h"
#include "tests/gpu/bench/round_source.h"
#include "tests/gpu/bench/sections.h"
#include "tests/gpu/double/cuda_double.h"
#include "tests/gpu/gpu_ranks.h"

namespace engram::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// Small enough for a second.
BenchOptions TinyOptions() {
  BenchOptions options;
  options.table_bytes = 1000 * kPackedBytes;
  options.pinned_bytes = 700 * kPackedBytes;
  options.engine_bytes = 2 * 500 * kPackedBytes;
  options.copy_bytes = 65536;
  options.host_copy_bytes = 4096;
  options.gather_rows_max = 500;
  options.tokens = {1, 5};
  options.repetitions = 3;
  options.engine_time = absl::Milliseconds(1);
  return options;
}

class BenchInDouble : public testing::Test {
 protected:
  void TearDown() override { EXPECT_THAT(cuda_double::Faults(), IsEmpty()); }

  // Every row has its figures; returns their names.
  static std::multiset<std::string> NamesOf(const BenchReport& report) {
    std::multiset<std::string> names;
    for (const Json& row : report.json()) {
      names.insert(row["name"]);
      EXPECT_GT(row["median"].get<double>(), 0) << row;
      EXPECT_LE(row["min"], row["median"]) << row;
      EXPECT_LE(row["median"], row["max"]) << row;
      EXPECT_GE(row["repetitions"], 3) << row;
      const bool is_copy = row["name"].get<std::string>().starts_with("copy_");
      EXPECT_EQ(row["rows_checked"] > 0, !is_copy) << row;
    }
    return names;
  }
};

TEST_F(BenchInDouble, OneDevice) {
  BenchReport report;
  ASSERT_EQ(BenchDevice(TinyOptions(), report), absl::OkStatus());
  // Gathers: DEVICE and HOST_PINNED, launches of 48, 240 and 500 rows.
  std::multiset<std::string> wanted = {"copy_device",  "copy_to_host", "copy_to_device", "dequantize",
                                       "place_packed", "place_bf16",   "hash",           "hash"};
  for (int i = 0; i < 6; ++i) wanted.insert({"gather_packed", "gather_bf16"});
  EXPECT_EQ(NamesOf(report), wanted);
  std::set<std::pair<std::string, uint64_t>> gathers;
  for (const Json& row : report.json()) {
    if (row["name"] != "gather_packed") continue;
    gathers.emplace(row["placement"].get<std::string>(), row["rows"].get<uint64_t>());
    EXPECT_TRUE(row.contains(row["placement"] == "DEVICE" ? "of_copy" : "of_bus"));
  }
  EXPECT_THAT(gathers, UnorderedElementsAre(std::pair("DEVICE", 48), std::pair("DEVICE", 240), std::pair("DEVICE", 500),
                                            std::pair("HOST_PINNED", 48), std::pair("HOST_PINNED", 240),
                                            std::pair("HOST_PINNED", 500)));
}

TEST_F(BenchInDouble, AWrongRowIsNoticed) {
  const Stream stream = Stream::Create(0).value();
  std::vector<uint8_t> rows;
  for (uint64_t row = 0; row < 10; ++row) {
    const std::vector<uint8_t> bytes = RowOf(LayerKey(kSeed, 1), row, RowForm::kPacked);
    rows.insert(rows.end(), bytes.begin(), bytes.end());
  }
  const std::vector<uint64_t> ids = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  DeviceBuffer out = UploadValues(rows, stream).value();
  EXPECT_EQ(CheckRows(reinterpret_cast<uint8_t*>(out.data()), RowForm::kPacked, ids, stream).value(), 10u);
  rows[9 * kPackedBytes + 200] ^= 1;
  out = UploadValues(rows, stream).value();
  EXPECT_THAT(CheckRows(reinterpret_cast<uint8_t*>(out.data()), RowForm::kPacked, ids, stream).status().ToString(),
              HasSubstr("DATA_LOSS: row 9 of 10 answered, which is row 9 of the table"));
}

TEST_F(BenchInDouble, TheDescriptionOfTheMachine) {
  Json json;
  ASSERT_EQ(DescribeMachine(json), absl::OkStatus());
  EXPECT_EQ(json["cards"], 8);
  EXPECT_EQ(json["cuda"], "12.4");
  EXPECT_EQ(json["nccl"], "2.22.0");
}

TEST(BenchRounds, AWrongRowIsNoticed) {
  Geometry geometry;
  geometry.rows = {100, 100};
  std::vector<std::byte> memory(RoundSource::MemoryBytes(RowForm::kPacked, 1, 2));
  ASSERT_EQ(memory.size(), 2u * 48u * 264u);
  RoundSource source(geometry, RowForm::kPacked, 1, 2, 1, absl::MakeSpan(memory));
  (void)source.Next();
  const absl::Span<const RowBlock> blocks = source.Next();
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[0].out, memory.data() + 48 * 264);
  for (const RowBlock& block : blocks) {
    for (size_t i = 0; i < block.ids.size(); ++i) {
      const std::vector<uint8_t> row = RowOf(LayerKey(kSeed, kLayerIds[block.layer_index]), block.ids[i], block.form);
      std::memcpy(block.out + i * row.size(), row.data(), row.size());
    }
  }
  EXPECT_EQ(source.Check(true).value(), 48u);
  memory.back() ^= std::byte{1};
  EXPECT_THAT(source.Check(true).status().ToString(), HasSubstr("row 23 of layer index 1"));
}

// The parameter: ranks.
class EngineBenchInDouble : public BenchInDouble, public testing::WithParamInterface<int> {};

TEST_P(EngineBenchInDouble, EveryModeAndPlacement) {
  const BenchOptions options = TinyOptions();
  const auto files = EngineFiles::Write("", options.engine_bytes).value();
  std::vector<EngineCase> cases;
  for (const CombineMode mode :
       {CombineMode::kAllReduceBf16, CombineMode::kAllReducePacked, CombineMode::kOwnerGather}) {
    cases.push_back({mode, Placement::kDevice});
    cases.push_back({mode, Placement::kHostPinned});
  }
  const EngineSetting setting = {options, files->checkpoint(), &CudaBackend(), GetParam()};
  BenchReport report;
  RunGpuRanks(GetParam(), [&](Collective& collective) {
    BenchReport mine;
    EXPECT_EQ(BenchEngine(collective, setting, cases, mine), absl::OkStatus());
    if (collective.rank() == 0) report = mine;
  });
  const std::multiset<std::string> names = NamesOf(report);
  EXPECT_EQ(names.count("round_time"), 12u);  // cases, 1 and 5 tokens
  EXPECT_EQ(names.count("rounds"), 12u);
  EXPECT_EQ(names.size(), 24u);
}

INSTANTIATE_TEST_SUITE_P(Ranks, EngineBenchInDouble, testing::Values(1, 2, 3));

}  // namespace
}  // namespace engram::bench
