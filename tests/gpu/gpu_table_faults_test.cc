// Loading and reading tables when something fails: in the double alone.

#include <gmock/gmock.h>

#include <chrono>
#include <string>
#include <tuple>
#include <vector>

#include "shard/gpu/gpu_table.h"
#include "tests/gpu/double/cuda_double.h"
#include "tests/gpu/gpu_ranks.h"
#include "tests/unit/shard/synthetic_tables.h"

namespace engram {
namespace {

using cuda_double::Faults;
using cuda_double::Install;
using cuda_double::Leaks;
using cuda_double::Plan;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint64_t kRows = 1000;
constexpr uint32_t kHeadDim = 256;
constexpr int kDevice = 1;  // not the one that is current by default

// After all tests of the program, also those that look at no fault themselves.
class NothingLeft : public testing::Environment {
 public:
  void TearDown() override { EXPECT_THAT(Faults(), IsEmpty()); }
};
const auto* const nothing_left = testing::AddGlobalTestEnvironment(new NothingLeft);

void Start(const Plan& plan) {
  EXPECT_THAT(Faults(), IsEmpty()) << "of a test before";
  Install(plan);
}

Plan Prompt() {
  Plan plan;
  plan.lateness = std::chrono::milliseconds(0);
  return plan;
}

class TableFaults : public testing::TestWithParam<std::tuple<Placement, FileLayout>> {
 protected:
  TableFaults() : checkpoint_(WriteSyntheticCheckpoint(folder_, layout(), kHeadDim, {kRows})) {}
  void TearDown() override { Start(Plan()); }

  static Placement placement() { return std::get<0>(GetParam()); }
  static FileLayout layout() { return std::get<1>(GetParam()); }

  TableSource Open() const { return TableSource::Open(checkpoint_.tables[0], {0, kRows}, kHeadDim).value(); }

  // Loads all rows and reads three.
  absl::Status Use() const {
    LoadMeter meter(0, nullptr, InAMinute());
    ENGRAM_ASSIGN_OR_RETURN(const std::unique_ptr<Table> table,
                            GpuTable::Load(placement(), Open(), {0, kRows}, kDevice, meter));
    std::vector<std::byte> out(3 * 264, std::byte{1});
    ENGRAM_RETURN_IF_ERROR(table->Gather(RowForm::kPacked, {0, 999, 500}, {2, 1, 0}, out.data()));
    EXPECT_EQ(static_cast<uint8_t>(out[264]), SyntheticByte(0, 999, 0));
    EXPECT_EQ(static_cast<uint8_t>(out[2 * 264 + 263]), SyntheticByte(0, 0, 263));
    return absl::OkStatus();
  }

  static void ExpectClean() {
    EXPECT_THAT(Leaks(), IsEmpty());
    EXPECT_THAT(Faults(), IsEmpty());
    EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "left for the next launch to stumble over";
  }

  const TempFolder folder_;
  const Checkpoint checkpoint_;
};

TEST_P(TableFaults, OutOfMemoryAtEveryAcquisition) {
  Start(Prompt());
  ASSERT_EQ(Use(), absl::OkStatus());
  ExpectClean();
  const int64_t acquisitions = cuda_double::Acquisitions();
  ASSERT_GE(acquisitions, 7);  // the rows, and for reading a stream and five buffers
  for (int64_t at = 1; at <= acquisitions; ++at) {
    SCOPED_TRACE(at);
    Plan plan = Prompt();
    plan.fail_acquisition = at;
    Start(plan);
    EXPECT_EQ(Use().code(), absl::StatusCode::kResourceExhausted);
    ExpectClean();
  }
}

TEST_P(TableFaults, ADeviceThatFailsAtAnyOperation) {
  Start(Prompt());
  ASSERT_EQ(Use(), absl::OkStatus());
  const int64_t operations = cuda_double::Operations();
  ASSERT_GE(operations, 4);  // the table for the kernel; entries, kernel, rows
  for (int64_t at = 1; at <= operations; ++at) {
    SCOPED_TRACE(at);
    Plan plan = Prompt();
    plan.fail_operation = at;
    Start(plan);
    const absl::Status status = Use();
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
    EXPECT_THAT(std::string(status.message()), HasSubstr("illegal memory access"));
    EXPECT_THAT(Leaks(), IsEmpty());
    EXPECT_THAT(Faults(), IsEmpty());
  }
}

TEST_P(TableFaults, ATimeoutOfTheLoadLeavesNothingBehind) {
  Start(Plan());
  LoadMeter meter(0, nullptr, DeadlineAfter(-absl::Seconds(1)));
  const auto table = GpuTable::Load(placement(), Open(), {0, kRows}, kDevice, meter);
  EXPECT_EQ(table.status().code(), absl::StatusCode::kDeadlineExceeded);
  ExpectClean();
}

INSTANTIATE_TEST_SUITE_P(All, TableFaults,
                         testing::Combine(testing::Values(Placement::kDevice, Placement::kHostPinned),
                                          testing::Values(FileLayout::kApart, FileLayout::kPacked,
                                                          FileLayout::kSpaced)));

}  // namespace
}  // namespace engram
