// Masked gather: rows by the definition, at every alignment, and nothing else written.

#include <random>

#include "gmock/gmock.h"
#include "tests/gpu/kernel_fixture.h"

namespace engram {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t Entry(uint64_t layer, uint64_t row) { return layer << 48 | row; }

// Rows this rank owns, of two layers; a third belongs to others altogether.
struct Range {
  uint64_t begin;
  uint64_t end;
};
constexpr Range kOwned[] = {{0, 70}, {1000, 1123}, {40, 40}};

bool IsOwned(uint64_t entry) {
  const uint64_t layer = entry >> 48;
  const uint64_t row = entry & 0xFFFFFFFFFFFF;
  return layer < std::size(kOwned) && row >= kOwned[layer].begin && row < kOwned[layer].end;
}

// Both ends of each range, the rows beside them, rows and layers that nobody has, then anything.
std::vector<uint64_t> SomeEntries(size_t count) {
  std::vector<uint64_t> entries = {Entry(1, 1000), Entry(0, 0),
                                   Entry(1, 1122), Entry(1, 1123),
                                   Entry(0, 69),   Entry(1, 999),
                                   Entry(0, 70),   Entry(1, 0),
                                   Entry(2, 40),   Entry(3, 5),
                                   Entry(2, 39),   Entry(0xFFFF, 0xFFFFFFFFFFFF),
                                   Entry(0, 69),   Entry(1, (1ul << 48) - 1)};
  std::mt19937_64 random(count);
  while (entries.size() < count) {
    const uint64_t layer = random() % 2;
    entries.push_back(Entry(layer, layer == 0 ? random() % 100 : 980 + random() % 160));
  }
  entries.resize(count);
  return entries;
}

std::vector<uint8_t> GatheredByDefinition(const std::vector<uint64_t>& entries, RowForm form, uint32_t head_dim,
                                          UnownedRows unowned) {
  std::vector<uint8_t> all;
  for (const uint64_t entry : entries) {
    std::vector<uint8_t> row(RowBytes(form, head_dim), unowned == UnownedRows::kZero ? 0 : kPoison);
    if (IsOwned(entry)) row = RowByDefinition(form, entry >> 48, entry & 0xFFFFFFFFFFFF, head_dim);
    all.insert(all.end(), row.begin(), row.end());
  }
  return all;
}

class Gather : public KernelTest {
 protected:
  void MakeTables(uint32_t head_dim) {
    std::vector<DeviceRows> layers;
    for (size_t i = 0; i < std::size(kOwned); ++i) {
      layers.push_back(MakeRows(i, kOwned[i].begin, kOwned[i].end, head_dim));
    }
    args_.layers = Upload(layers);
    args_.layer_count = static_cast<uint32_t>(layers.size());
    args_.head_dim = head_dim;
  }

  void Check(RowForm form, size_t count, uint64_t offset, UnownedRows unowned = UnownedRows::kZero) {
    const std::vector<uint64_t> entries = SomeEntries(count);
    const Output out = MakeOutput(count * RowBytes(form, args_.head_dim), offset);
    args_.entries = Upload(entries);
    args_.rows = count;
    args_.form = form;
    args_.unowned = unowned;
    args_.out = out.data;
    const absl::Status status = LaunchGather(args_, stream());
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_EQ(Read(out), GatheredByDefinition(entries, form, args_.head_dim, unowned))
        << "head_dim " << args_.head_dim << " form " << static_cast<int>(form) << " rows " << count << " offset "
        << offset << " unowned " << static_cast<int>(unowned);
  }

  GatherArgs args_;
};

TEST_F(Gather, EveryWidthAtEveryAlignment) {
  for (const uint32_t head_dim : {32u, 64u, 96u, 128u, 256u, 512u}) {
    MakeTables(head_dim);
    for (const RowForm form : {RowForm::kPacked, RowForm::kBf16}) {
      for (uint64_t offset = 0; offset < 16; ++offset) ASSERT_NO_FATAL_FAILURE(Check(form, 35, offset));
    }
  }
}

TEST_F(Gather, EveryCount) {
  for (const uint32_t head_dim : {32u, 256u}) {
    MakeTables(head_dim);
    for (const RowForm form : {RowForm::kPacked, RowForm::kBf16}) {
      for (const size_t count : {0, 1, 2, 31, 32, 33, 1000, 5000}) {
        ASSERT_NO_FATAL_FAILURE(Check(form, count, 0));
        ASSERT_NO_FATAL_FAILURE(Check(form, count, 8));
      }
    }
  }
}

TEST_F(Gather, LeavesTheRowsOfOthersAlone) {
  for (const uint32_t head_dim : {32u, 256u}) {
    MakeTables(head_dim);
    for (const RowForm form : {RowForm::kPacked, RowForm::kBf16}) {
      for (const uint64_t offset : {0, 3, 8}) ASSERT_NO_FATAL_FAILURE(Check(form, 200, offset, UnownedRows::kLeave));
    }
  }
}

TEST_F(Gather, TheWidestRow) {
  MakeTables(65536);
  for (const RowForm form : {RowForm::kPacked, RowForm::kBf16}) ASSERT_NO_FATAL_FAILURE(Check(form, 5, 8));
}

// One captured launch serves rounds of other entries.
TEST_F(Gather, RunsAgainFromAGraph) {
  MakeTables(256);
  const std::vector<uint64_t> first(24, Entry(0, 3));
  const std::vector<uint64_t> second(24, Entry(1, 1001));
  uint64_t* entries = Upload(first);
  const Output out = MakeOutput(first.size() * RowBytes(RowForm::kPacked, 256));
  args_.entries = entries;
  args_.rows = first.size();
  args_.out = out.data;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(stream(), cudaStreamCaptureModeThreadLocal), cudaSuccess);
  ASSERT_TRUE(LaunchGather(args_, stream()).ok());
  ASSERT_EQ(cudaStreamEndCapture(stream(), &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
  for (const std::vector<uint64_t>& round : {first, second}) {
    Overwrite(entries, round.data(), round.size() * sizeof(uint64_t));
    ASSERT_EQ(cudaGraphLaunch(executable, stream()), cudaSuccess);
    EXPECT_EQ(Read(out), GatheredByDefinition(round, RowForm::kPacked, 256, UnownedRows::kZero));
  }
  EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

TEST_F(Gather, RefusesWhatNoLaunchCanHave) {
  MakeTables(32);
  args_.rows = 1;
  EXPECT_THAT(LaunchGather(args_, stream()).ToString(), HasSubstr("INVALID_ARGUMENT: entries is empty; there are 1"));
  args_.head_dim = 33;
  EXPECT_THAT(LaunchGather(args_, stream()).ToString(),
              HasSubstr("head_dim is 33; it must be a positive multiple of 32"));
  args_.head_dim = 32;
  args_.layer_count = 0;
  EXPECT_THAT(LaunchGather(args_, stream()).ToString(), HasSubstr("layers is empty; there are 1 rows"));
}

}  // namespace
}  // namespace engram
