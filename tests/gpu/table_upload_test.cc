// Rows on their way into device memory: what is held, what overlaps, what ends it. In the double alone.

#include "shard/gpu/table_upload.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "shard/gpu/device_memory.h"
#include "shard/gpu/memory_plan.h"
#include "tests/gpu/double/cuda_double.h"
#include "tests/gpu/gpu_ranks.h"
#include "tests/unit/shard/synthetic_tables.h"

namespace engram {
namespace {

using cuda_double::HoldStreams;
using cuda_double::Install;
using cuda_double::Leaks;
using cuda_double::Plan;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uint64_t kRows = 1000;
constexpr uint32_t kHeadDim = 256;
constexpr int kDevice = 1;  // not the one that is current by default

using Progress = std::function<void(const LoadProgress&)>;

class Uploads : public testing::TestWithParam<FileLayout> {
 protected:
  Uploads() : checkpoint_(WriteSyntheticCheckpoint(folder_, GetParam(), kHeadDim, {kRows})) {}
  void SetUp() override { Start(Plan()); }
  void TearDown() override { Start(Plan()); }

  static void Start(const Plan& plan) {
    EXPECT_THAT(cuda_double::Faults(), IsEmpty()) << "of what was before";
    Install(plan);
  }

  absl::Status Upload(Progress progress = nullptr, absl::Duration copy_timeout = absl::Minutes(1)) const {
    const TableLayout rows = LayoutOf(kRows, kHeadDim);
    ENGRAM_ASSIGN_OR_RETURN(const DeviceBuffer memory, DeviceBuffer::Allocate(kDevice, rows.total(), "rows"));
    const RowPlaces places = {memory.data(), kHeadDim, memory.data() + rows.scales_begin, kHeadDim / kScaleBlock};
    LoadMeter meter(0, std::move(progress), InAMinute());
    TableSource source = TableSource::Open(checkpoint_.tables[0], {0, kRows}, kHeadDim).value();
    return UploadRows(source, {0, kRows}, places, kDevice, meter, copy_timeout);
  }

  const TempFolder folder_;
  const Checkpoint checkpoint_;
};

// Of 264000 bytes a block has 16500 at most: 62 rows, or 61 with gaps between them.
TEST_P(Uploads, TwoSmallBlocksOfTheHostAndNoMore) {
  std::vector<std::string> held;
  ASSERT_EQ(Upload([&held](const LoadProgress&) { held = Leaks(); }), absl::OkStatus());
  held.erase(std::remove_if(held.begin(), held.end(),
                            [](const std::string& line) { return line.find("pinned") == std::string::npos; }),
             held.end());
  const std::string bytes = GetParam() == FileLayout::kSpaced ? "16464" : "16368";
  EXPECT_THAT(held, SizeIs(2));
  EXPECT_THAT(held, Each(bytes + " bytes of pinned memory, device 1"));
  EXPECT_THAT(Leaks(), IsEmpty());
}

// The second block is read while the copy of the first has not even begun.
TEST_P(Uploads, ReadsWhileItCopies) {
  HoldStreams(true);
  int blocks = 0;
  const Progress progress = [&blocks](const LoadProgress&) {
    if (++blocks == 2) HoldStreams(false);
  };
  EXPECT_EQ(Upload(progress), absl::OkStatus());
  EXPECT_EQ(blocks, 17);
}

TEST_P(Uploads, ACopyThatDoesNotEndIsNotWaitedForForEver) {
  HoldStreams(true);
  std::thread release([] {  // what was allocated is given back only then
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    HoldStreams(false);
  });
  EXPECT_EQ(Upload(nullptr, absl::Milliseconds(20)),
            absl::UnavailableError("the copy of a block of rows did not end in time on the device"));
  release.join();
  EXPECT_THAT(Leaks(), IsEmpty());
}

// The last copy is waited for as well.
TEST_P(Uploads, NoCopyFailsInSilence) {
  ASSERT_EQ(Upload(), absl::OkStatus());
  const int64_t operations = cuda_double::Operations();
  ASSERT_GE(operations, 2 * 17);  // at least a copy and an event for each block
  for (int64_t at = 1; at <= operations; ++at) {
    Plan plan;
    plan.fail_operation = at;
    plan.lateness = std::chrono::milliseconds(0);
    Start(plan);
    EXPECT_THAT(std::string(Upload().message()), HasSubstr("illegal memory access")) << "operation " << at;
    EXPECT_THAT(Leaks(), IsEmpty());
  }
}

INSTANTIATE_TEST_SUITE_P(All, Uploads, testing::Values(FileLayout::kApart, FileLayout::kPacked, FileLayout::kSpaced));

}  // namespace
}  // namespace engram
