// Engines on GPU ranks when something fails: in the double. Every time the front end is told, nobody waits longer than
// the timeouts, rows that are delivered are right, and nothing is left behind.

#include <gmock/gmock.h>

#include <chrono>
#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "model/files/errors.h"
#include "shard/gpu/device_memory.h"
#include "tests/gpu/double/cuda_double.h"
#include "tests/gpu/gpu_engine.h"
#include "tests/unit/shard/synthetic_tables.h"

namespace engram {
namespace {

using cuda_double::Plan;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// What others say of a rank that failed; and where a machine is so slow that ranks do not even load in time.
const auto kTooLate = AnyOf(absl::StatusCode::kUnavailable, absl::StatusCode::kDeadlineExceeded);

// The parameter: ranks, mode.
class GpuEngineFaults : public testing::TestWithParam<std::tuple<int, CombineMode>> {
 protected:
  static int ranks() { return std::get<0>(GetParam()); }
  static CombineMode mode() { return std::get<1>(GetParam()); }

  // For tests that wait in vain. Nobody is lost for being asked late.
  void LetWaitsBeShort(absl::Duration round_timeout = absl::Milliseconds(300),
                       absl::Duration load_timeout = absl::Seconds(1)) {
    options_.round_timeout = round_timeout;
    options_.load_timeout = load_timeout;
  }

  // Rounds of all kinds. The first error, after which all that comes fails too.
  absl::Status Live() {
    std::mt19937_64 random(11);
    RoundCase small = MakeRound(checkpoint_, mode(), 30, 1, random);
    RoundCase large = MakeRound(checkpoint_, mode(), 1100, 3, random);
    RoundCase pinned = MakeRound(checkpoint_, mode(), 1200, 2, random);
    std::vector<PinnedBuffer> pins;  // longer than the engine, whose copies may still write there
    for (const absl::Span<std::byte> memory : pinned.memories()) {
      ENGRAM_ASSIGN_OR_RETURN(PinnedBuffer pin, PinnedBuffer::Register(0, memory, "reply memory"));
      pins.push_back(std::move(pin));
    }
    GpuEngine running(checkpoint_, ranks(), options_);
    ENGRAM_RETURN_IF_ERROR(running.started);
    const absl::Status asked = AskRounds(*running.engine, {&pinned, &small, &large});
    if (asked.ok()) return running.engine->Stop();
    EXPECT_EQ(asked.code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(running.engine->Begin({}).code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(running.engine->Finish().code(), absl::StatusCode::kUnavailable);
    return asked;
  }

  // The first two in flight together, then each alone.
  static absl::Status AskRounds(Engine& engine, const std::vector<RoundCase*>& rounds) {
    for (size_t i = 0; i < 2; ++i) ENGRAM_RETURN_IF_ERROR(engine.Begin(rounds[i]->MakeBlocks()));
    for (size_t i = 0; i < 2; ++i) {
      ENGRAM_RETURN_IF_ERROR(engine.Finish());
      rounds[i]->ExpectRows(mode(), ranks());
    }
    for (RoundCase* round : rounds) {
      ENGRAM_RETURN_IF_ERROR(round->Run(engine));
      round->ExpectRows(mode(), ranks());
    }
    return absl::OkStatus();
  }

  absl::Status LiveWith(Plan plan) {
    cuda_double::Install(plan);
    const absl::Status status = Live();
    EXPECT_THAT(cuda_double::Leaks(), IsEmpty());
    EXPECT_THAT(cuda_double::Faults(), IsEmpty());
    return status;
  }

  const TempFolder folder_;
  const Checkpoint checkpoint_ = WriteSyntheticCheckpoint(folder_, FileLayout::kApart, 32, {97, 2, 300});
  EngineOptions options_ = GpuOptionsOf(mode(), Placement::kDevice);
};

INSTANTIATE_TEST_SUITE_P(All, GpuEngineFaults,
                         testing::Combine(testing::Values(1, 2, 3), testing::ValuesIn(kCombineModes)));

TEST_P(GpuEngineFaults, HoweverLateTheDeviceIs) {
  for (const int lateness_ms : {0, 1, 15}) {
    Plan plan;
    plan.lateness = std::chrono::milliseconds(lateness_ms);
    EXPECT_EQ(LiveWith(plan), absl::OkStatus());
  }
}

TEST_P(GpuEngineFaults, OutOfMemoryAtAnyAcquisition) {
  Plan plan;
  plan.lateness = std::chrono::milliseconds(0);
  ASSERT_EQ(LiveWith(plan), absl::OkStatus());
  LetWaitsBeShort();
  const int64_t acquisitions = cuda_double::Acquisitions();
  for (plan.fail_acquisition = 1; plan.fail_acquisition <= acquisitions; plan.fail_acquisition += ranks()) {
    SCOPED_TRACE(plan.fail_acquisition);
    EXPECT_THAT(LiveWith(plan).code(), AnyOf(absl::StatusCode::kResourceExhausted, kTooLate));
  }
}

TEST_P(GpuEngineFaults, ADeviceThatFailsAtAnyOperation) {
  Plan plan;
  plan.lateness = std::chrono::milliseconds(0);
  ASSERT_EQ(LiveWith(plan), absl::OkStatus());
  LetWaitsBeShort();
  const int64_t operations = cuda_double::Operations();
  for (plan.fail_operation = 1; plan.fail_operation <= operations; plan.fail_operation += ranks()) {
    SCOPED_TRACE(plan.fail_operation);
    EXPECT_THAT(LiveWith(plan).code(), AnyOf(absl::StatusCode::kInternal, kTooLate));
  }
}

TEST_P(GpuEngineFaults, AnyFailureDrawnFromASeed) {
  LetWaitsBeShort();
  for (uint64_t seed = 1; seed <= 25; ++seed) {
    SCOPED_TRACE(seed);
    const Plan plan = cuda_double::RandomPlan(seed, ranks());
    const absl::Status status = LiveWith(plan);
    const bool fails = plan.fail_acquisition != 0 || plan.fail_operation != 0;
    EXPECT_FALSE(fails && status.ok());
  }
}

// More than one rank.
class GpuRanksFaults : public GpuEngineFaults {};

INSTANTIATE_TEST_SUITE_P(All, GpuRanksFaults,
                         testing::Combine(testing::Values(2, 3), testing::ValuesIn(kCombineModes)));

TEST_P(GpuRanksFaults, AStalledRankIsNamedWithinTheTimeout) {
  LetWaitsBeShort(absl::Seconds(1), absl::Minutes(1));
  for (const int64_t from : {1, 2, 3}) {
    SCOPED_TRACE(from);
    Plan plan;
    plan.stalled_rank = ranks() - 1;
    plan.stalled_from = from;
    const auto begin = std::chrono::steady_clock::now();
    const absl::Status status = LiveWith(plan);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(ranks() == 2 ? "the rows of a round: no answer in time from rank 1"
                                       : "the rows of a round: no answer in time from one of ranks 1, 2"));
  }
}

TEST_P(GpuRanksFaults, ARankThatDoesNotJoinIsNamedWithinTheTimeout) {
  LetWaitsBeShort(absl::Seconds(1), absl::Seconds(2));
  Plan plan;
  plan.stalled_rank = ranks() - 1;
  plan.stalled_from = 0;
  const absl::Status status = LiveWith(plan);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("ncclCommInitRankConfig: no answer in time from "));
}

TEST_P(GpuRanksFaults, AnAsynchronousErrorEndsTheJob) {
  LetWaitsBeShort(absl::Seconds(1), absl::Minutes(1));
  for (int rank = 0; rank < ranks(); ++rank) {
    SCOPED_TRACE(rank);
    Plan plan;
    plan.broken_rank = rank;
    plan.broken_at = 2;
    const absl::Status status = LiveWith(plan);
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(rank == 0 ? "remote process exited or there was a network error" : "no answer in time"));
  }
}

}  // namespace
}  // namespace engram
