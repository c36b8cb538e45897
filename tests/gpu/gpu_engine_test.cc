// The whole engine on GPU ranks, against the golden cases; and jobs that cannot be. In the double.

#include <gmock/gmock.h>

#include <string>
#include <tuple>

#include "shard/loaded_rank.h"
#include "tests/golden/golden_case.h"
#include "tests/gpu/gpu_engine.h"
#include "tests/gpu/gpu_ranks.h"
#include "tests/unit/shard/synthetic_tables.h"

namespace engram {
namespace {

using ::testing::HasSubstr;

constexpr Placement kPlacements[] = {Placement::kDevice, Placement::kHostPinned};

class GpuGolden : public GpuEngineTest,
                  public testing::WithParamInterface<std::tuple<const char*, int, CombineMode, Placement>> {};

TEST_P(GpuGolden, ReturnsTheReferencesRows) {
  const auto [name, ranks, mode, placement] = GetParam();
  const GoldenCase golden = LoadGoldenCase(name);
  const absl::StatusOr<Checkpoint> checkpoint =
      OpenCheckpoint(GoldenPath(std::string(name) + "_checkpoint"), GoldenPath(std::string(name) + "_constants.gguf"));
  ASSERT_EQ(checkpoint.status(), absl::OkStatus());
  GpuEngine running(*checkpoint, ranks, GpuOptionsOf(mode, placement));
  ASSERT_EQ(running.started, absl::OkStatus());
  ASSERT_NO_FATAL_FAILURE(ExpectGoldenRounds(*running.engine, *checkpoint, golden, mode, ranks));
  EXPECT_EQ(running.engine->Stop(), absl::OkStatus());
}

INSTANTIATE_TEST_SUITE_P(All, GpuGolden,
                         testing::Combine(testing::ValuesIn(kGoldenNames), testing::Values(1, 2, 3, 4),
                                          testing::ValuesIn(kCombineModes), testing::ValuesIn(kPlacements)));

class GpuJobs : public GpuEngineTest {
 protected:
  // How Start ended on each rank of a job whose ranks have options of their own.
  std::vector<absl::Status> Start(const std::vector<EngineOptions>& options) {
    std::vector<absl::Status> started(options.size());
    RunGpuRanks(static_cast<int>(options.size()), [&](Collective& host) {
      const auto rank = static_cast<size_t>(host.rank());
      LoadMeter meter(0, nullptr, InAMinute());
      started[rank] = LoadRank(host, checkpoint_, options[rank], meter).status();
    });
    return started;
  }

  const TempFolder folder_;
  const Checkpoint checkpoint_ = WriteSyntheticCheckpoint(folder_, FileLayout::kPacked, 32, {10, 6});
};

TEST_F(GpuJobs, GpuRanksAndCpuRanksAreNotMixed) {
  const std::vector<absl::Status> started = Start({GpuOptionsOf(CombineMode::kOwnerGather, Placement::kDevice),
                                                   GpuOptionsOf(CombineMode::kOwnerGather, Placement::kMapped)});
  for (const absl::Status& status : started) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(status.message()), HasSubstr("GPU ranks and CPU ranks cannot be in one job"));
  }
}

TEST_F(GpuJobs, TwoRanksNeedTwoDevices) {
  Install(2, 1);
  const GpuEngine running(checkpoint_, 2, GpuOptionsOf(CombineMode::kOwnerGather, Placement::kDevice));
  EXPECT_EQ(running.started.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(running.started.message()), HasSubstr("ranks 0 and 1 would use the same GPU"));
}

TEST_F(GpuJobs, ATableThatDoesNotFitIsRefusedByItsRank) {
  cuda_double::Plan plan;
  plan.device_bytes = 1000;
  cuda_double::Install(plan);
  const GpuEngine running(checkpoint_, 2, GpuOptionsOf(CombineMode::kOwnerGather, Placement::kDevice));
  EXPECT_EQ(running.started.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(running.started.message()), HasSubstr("does not fit"));
}

TEST_F(GpuJobs, AnEngineThatIsNotStoppedLeavesNothingBehind) {
  const GpuEngine running(checkpoint_, 3, GpuOptionsOf(CombineMode::kAllReducePacked, Placement::kDevice));
  EXPECT_EQ(running.started, absl::OkStatus());
}

}  // namespace
}  // namespace engram
