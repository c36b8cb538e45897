// One communicator when ranks are lost, slow or wrong: in the double alone.

#include <gmock/gmock.h>

#include <vector>

#include "absl/strings/match.h"
#include "model/mutex.h"
#include "shard/gpu/nccl_comm.h"
#include "tests/gpu/double/cuda_double.h"
#include "tests/gpu/gpu_ranks.h"

namespace engram {
namespace {

using cuda_double::Faults;
using cuda_double::Install;
using cuda_double::Leaks;
using cuda_double::Plan;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr size_t kBytes = 800;

// For the rounds, and for the start of the communicator. Tests that wait in vain make one of them short; what they
// expect holds also where a machine is so slow that others come too late.
absl::Duration patience = absl::Minutes(1);
absl::Duration start_patience = absl::Minutes(1);

absl::Status AllReduceAndExchange(NcclComm& comm, const Stream& stream, Event& event, DeviceBuffer& buffer) {
  const Deadline deadline = DeadlineAfter(patience);
  auto* words = reinterpret_cast<uint64_t*>(buffer.data());
  ENGRAM_RETURN_IF_ERROR(comm.AllReduceSum(words, kBytes / sizeof(uint64_t), stream, deadline));
  ENGRAM_RETURN_IF_ERROR(event.Record(stream));
  ENGRAM_RETURN_IF_ERROR(comm.Await(event, "the sum", deadline));
  // Rank 0 gets a part from each other rank.
  std::vector<DevicePart> sends;
  std::vector<DevicePart> receives;
  const uint64_t part = kBytes / static_cast<uint64_t>(comm.ranks());
  if (comm.rank() > 0) sends.push_back({0, buffer.data(), part});
  for (int peer = 1; peer < comm.ranks() && comm.rank() == 0; ++peer) {
    receives.push_back({peer, buffer.data() + static_cast<uint64_t>(peer) * part, part});
  }
  ENGRAM_RETURN_IF_ERROR(comm.Exchange(sends, receives, stream, deadline));
  ENGRAM_RETURN_IF_ERROR(event.Record(stream));
  return comm.Await(event, "the exchange", deadline);
}

// A rank's life: start, two rounds, end. Its buffers go after the communicator.
absl::Status Live(Collective& host) {
  const int device = host.rank();
  ENGRAM_ASSIGN_OR_RETURN(DeviceBuffer buffer, DeviceBuffer::Allocate(device, kBytes, "rows"));
  ENGRAM_ASSIGN_OR_RETURN(const Stream stream, Stream::Create(device));
  ENGRAM_ASSIGN_OR_RETURN(Event event, Event::Create(device));
  ENGRAM_ASSIGN_OR_RETURN(const std::unique_ptr<NcclComm> comm,
                          NcclComm::Create(host, device, DeadlineAfter(start_patience)));
  for (int round = 0; round < 2; ++round) {
    ENGRAM_RETURN_IF_ERROR(AllReduceAndExchange(*comm, stream, event, buffer));
  }
  return comm->Close(DeadlineAfter(patience));
}

// How each rank ended. Nothing is left behind.
std::vector<absl::Status> Outcomes(int ranks, const Plan& plan) {
  Install(plan);
  std::vector<absl::Status> outcomes(static_cast<size_t>(ranks));
  RunGpuRanks(ranks, [&](Collective& host) { outcomes[static_cast<size_t>(host.rank())] = Live(host); });
  EXPECT_THAT(Leaks(), IsEmpty());
  return outcomes;
}

// The parameter: how many ranks.
class NcclFaults : public testing::TestWithParam<int> {
 protected:
  ~NcclFaults() override { patience = start_patience = absl::Minutes(1); }

  static void LetWaitsBeShort() { patience = start_patience = absl::Milliseconds(100); }
};

INSTANTIATE_TEST_SUITE_P(Ranks, NcclFaults, testing::Values(2, 3, 4, 7));

TEST_P(NcclFaults, AHealthyJobEndsWell) {
  for (const absl::Status& outcome : Outcomes(GetParam(), Plan())) EXPECT_EQ(outcome, absl::OkStatus());
  EXPECT_THAT(Faults(), IsEmpty());
}

TEST_P(NcclFaults, AStalledRankEndsAllByTheirDeadlines) {
  LetWaitsBeShort();
  for (int64_t from = 0; from <= 4; ++from) {  // 0: it does not join; 1 and 3: a sum; 2 and 4: an exchange
    SCOPED_TRACE(from);
    Plan plan;
    plan.stalled_rank = GetParam() - 1;
    plan.stalled_from = from;
    const std::vector<absl::Status> outcomes = Outcomes(GetParam(), plan);
    EXPECT_EQ(outcomes.front().code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(std::string(outcomes.front().message()), HasSubstr("no answer in time from "));
    EXPECT_THAT(std::string(outcomes.front().message()), HasSubstr(absl::StrCat(plan.stalled_rank)));
    EXPECT_EQ(outcomes.back().code(), absl::StatusCode::kUnavailable) << "the stalled rank waits for itself";
  }
}

TEST_P(NcclFaults, AnAsynchronousErrorEndsItsRankAtOnceAndTheOthersByTheirDeadlines) {
  patience = absl::Seconds(1);
  Plan plan;
  plan.broken_rank = GetParam() - 1;
  plan.broken_at = 1;
  const std::vector<absl::Status> outcomes = Outcomes(GetParam(), plan);
  EXPECT_EQ(outcomes.back().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(outcomes.back().message()),
              HasSubstr("the sum: remote process exited or there was a network error"));
  EXPECT_EQ(outcomes.front().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(outcomes.front().message()), HasSubstr("the sum: no answer in time"));
}

class NcclFaultsOfTwo : public NcclFaults {};
INSTANTIATE_TEST_SUITE_P(Ranks, NcclFaultsOfTwo, testing::Values(2));

TEST_P(NcclFaultsOfTwo, TheOnlyOtherRankIsNamed) {
  patience = absl::Milliseconds(100);
  Plan plan;
  plan.stalled_rank = 1;
  const std::vector<absl::Status> outcomes = Outcomes(2, plan);
  EXPECT_EQ(outcomes.front(), absl::UnavailableError("rank 0 of 2, device 0: the sum: no answer in time from rank 1"));
}

TEST_P(NcclFaultsOfTwo, TwoRanksOnOneDeviceAreRefused) {
  Install(Plan());
  LetWaitsBeShort();
  int refused = 0;
  Mutex mu;
  RunGpuRanks(2, [&](Collective& host) {
    const absl::Status status = NcclComm::Create(host, 0, DeadlineAfter(start_patience)).status();
    MutexLock lock(mu);
    refused += absl::StrContains(std::string(status.message()), "invalid usage") ? 1 : 0;
  });
  EXPECT_EQ(refused, 1);
  EXPECT_THAT(Leaks(), IsEmpty());
}

TEST_P(NcclFaults, OutOfMemoryAtEveryAcquisition) {
  Outcomes(GetParam(), Plan());
  LetWaitsBeShort();
  const int64_t acquisitions = cuda_double::Acquisitions();
  EXPECT_EQ(acquisitions, 4 * GetParam());
  for (int64_t at = 1; at <= acquisitions; ++at) {
    SCOPED_TRACE(at);
    Plan plan;
    plan.fail_acquisition = at;
    int failed = 0;
    for (const absl::Status& outcome : Outcomes(GetParam(), plan)) failed += outcome.ok() ? 0 : 1;
    EXPECT_EQ(failed, GetParam()) << "the others go on without it";
  }
}

TEST_P(NcclFaults, ADeviceThatFailsAtAnyOperation) {
  LetWaitsBeShort();
  for (const int64_t at : {1, 2, 5, 7}) {
    SCOPED_TRACE(at);
    Plan plan;
    plan.fail_operation = at;
    for (const absl::Status& outcome : Outcomes(GetParam(), plan)) {
      EXPECT_TRUE(outcome.code() == absl::StatusCode::kUnavailable || outcome.code() == absl::StatusCode::kInternal)
          << outcome;
    }
  }
}

TEST_P(NcclFaults, AnyFailureDrawnFromASeedEndsCleanly) {
  LetWaitsBeShort();
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Outcomes(GetParam(), cuda_double::RandomPlan(seed, GetParam()));
    EXPECT_THAT(Faults(), IsEmpty());
  }
}

TEST(NcclFaultsOfOne, AfterAnAbortEveryCallSaysWhy) {
  Install(Plan());
  RunGpuRanks(1, [](Collective& host) {
    const DeviceBuffer buffer = DeviceBuffer::Allocate(0, kBytes, "rows").value();
    const Stream stream = Stream::Create(0).value();
    Event event = Event::Create(0).value();
    const std::unique_ptr<NcclComm> comm = NcclComm::Create(host, 0, InAMinute()).value();
    const absl::Status why = absl::UnavailableError("rank 3 was lost");
    comm->Abort(why);
    comm->Abort(absl::InternalError("a second reason"));
    auto* words = reinterpret_cast<uint64_t*>(buffer.data());
    EXPECT_EQ(comm->AllReduceSum(words, 1, stream, InAMinute()), why);
    EXPECT_EQ(comm->Exchange({}, {}, stream, InAMinute()), why);
    EXPECT_EQ(comm->Await(event, "nothing", InAMinute()), why);
    EXPECT_EQ(comm->Close(InAMinute()), why);
  });
  EXPECT_THAT(Leaks(), IsEmpty());
}

}  // namespace
}  // namespace engram
