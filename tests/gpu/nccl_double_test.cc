// What the double of NCCL refuses or shows, where real ranks would hang or mix up their bytes.

#include <gmock/gmock.h>

#include <vector>

#include "shard/gpu/nccl_comm.h"
#include "tests/gpu/double/cuda_double.h"
#include "tests/gpu/gpu_ranks.h"

namespace engram {
namespace {

using cuda_double::Faults;
using cuda_double::Install;
using cuda_double::Leaks;
using cuda_double::Plan;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint64_t kBytes = 800;

struct RankAtWork {
  explicit RankAtWork(Collective& host)
      : rank(host.rank()),
        buffer(DeviceBuffer::Allocate(rank, kBytes, "rows").value()),
        stream(Stream::Create(rank).value()),
        event(Event::Create(rank).value()),
        comm(NcclComm::Create(host, rank, InAMinute()).value()) {
    uint64_t all_are_there = 1;  // none fails while another still starts
    EXPECT_EQ(host.AllReduceSum(absl::MakeSpan(&all_are_there, 1), InAMinute()), absl::OkStatus());
  }

  uint8_t* bytes() const { return reinterpret_cast<uint8_t*>(buffer.data()); }

  absl::Status Await() {
    ENGRAM_RETURN_IF_ERROR(event.Record(stream));
    return comm->Await(event, "the operation", InAMinute());
  }

  const int rank;
  const DeviceBuffer buffer;
  const Stream stream;
  Event event;
  const std::unique_ptr<NcclComm> comm;
};

class NcclDouble : public testing::Test {
 protected:
  static void Run(int ranks, const std::function<void(RankAtWork&)>& body) {
    Install(Plan());
    RunGpuRanks(ranks, [&body](Collective& host) {
      RankAtWork work(host);
      body(work);
    });
    EXPECT_THAT(Leaks(), IsEmpty());
  }
};

TEST_F(NcclDouble, SumsOfDifferentSizesAreSeen) {
  Run(3, [](RankAtWork& work) {
    const uint64_t count = work.rank == 1 ? 799 : 800;
    if (!work.comm->AllReduceSum(work.bytes(), count, work.stream, InAMinute()).ok()) return;
    EXPECT_FALSE(work.Await().ok());
  });
  ASSERT_FALSE(Faults().empty());
  EXPECT_THAT(Faults().front(), HasSubstr("799"));
}

TEST_F(NcclDouble, ASendOfAnotherSizeThanExpectedIsSeen) {
  Run(2, [](RankAtWork& work) {
    const DevicePart send = {0, work.buffer.data(), 33};
    const DevicePart receive = {1, work.buffer.data(), 34};
    const absl::Status status = work.rank == 1 ? work.comm->Exchange({send}, {}, work.stream, InAMinute())
                                               : work.comm->Exchange({}, {receive}, work.stream, InAMinute());
    EXPECT_FALSE(status.ok() && work.Await().ok());
  });
  EXPECT_THAT(Faults(), ::testing::ElementsAre("rank 1 sends 33 bytes, rank 0 expects 34"));
}

TEST_F(NcclDouble, MemoryOutOfReachIsRefused) {
  Run(1, [](RankAtWork& work) {
    const DeviceBuffer other = DeviceBuffer::Allocate(1, kBytes, "rows of another device").value();
    const absl::Status status =
        work.comm->AllReduceSum(reinterpret_cast<uint8_t*>(other.data()), kBytes, work.stream, InAMinute());
    EXPECT_EQ(status, absl::InternalError("rank 0 of 1, device 0: ncclAllReduce: invalid argument"));
  });
  Run(1, [](RankAtWork& work) {
    EXPECT_FALSE(work.comm->AllReduceSum(work.bytes(), kBytes + 1, work.stream, InAMinute()).ok());
  });
  Run(1, [](RankAtWork& work) {
    auto* odd = reinterpret_cast<uint64_t*>(work.buffer.data() + 1);
    EXPECT_FALSE(work.comm->AllReduceSum(odd, 1, work.stream, InAMinute()).ok()) << "not aligned";
  });
}

TEST_F(NcclDouble, AStreamOfAnotherDeviceIsRefused) {
  Run(1, [](RankAtWork& work) {
    const Stream other = Stream::Create(1).value();
    EXPECT_FALSE(work.comm->AllReduceSum(work.bytes(), kBytes, other, InAMinute()).ok());
  });
}

TEST_F(NcclDouble, APeerThatDoesNotExistIsRefusedAndTheGroupClosed) {
  Run(2, [](RankAtWork& work) {
    const DevicePart part = {7, work.buffer.data(), 8};
    const absl::Status status = work.comm->Exchange({part}, {}, work.stream, InAMinute());
    EXPECT_THAT(std::string(status.message()), HasSubstr("ncclSend and ncclRecv: invalid argument"));
    EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage) << "it was left open";
  });
}

TEST_F(NcclDouble, ANanIsTheDevicesOwn) {
  Run(2, [](RankAtWork& work) {
    const std::vector<uint16_t> nan(1, work.rank == 0 ? 0x7FC0 : 0);
    ASSERT_EQ(cudaMemcpyAsync(work.buffer.data(), nan.data(), 2, cudaMemcpyHostToDevice, work.stream.get()),
              cudaSuccess);
    auto* values = reinterpret_cast<uint16_t*>(work.buffer.data());
    ASSERT_EQ(work.comm->AllReduceSumBf16(values, 1, work.stream, InAMinute()), absl::OkStatus());
    ASSERT_EQ(work.event.Record(work.stream), absl::OkStatus());
    ASSERT_EQ(work.comm->Await(work.event, "the sum", InAMinute()), absl::OkStatus());
    uint16_t sum = 0;
    ASSERT_EQ(cudaMemcpyAsync(&sum, work.buffer.data(), 2, cudaMemcpyDeviceToHost, work.stream.get()), cudaSuccess);
    EXPECT_EQ(sum, 0x7FFF);
  });
}

TEST_F(NcclDouble, OperationsBeginOnlyWhileTheCommunicatorIsAsked) {
  Install(Plan());
  const Stream stream = Stream::Create(0).value();
  const DeviceBuffer buffer = DeviceBuffer::Allocate(0, kBytes, "rows").value();
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclComm_t comm = nullptr;
  ASSERT_EQ(ncclCommInitRankConfig(&comm, 1, id, 0, &config), ncclInProgress);
  ASSERT_EQ(ncclAllReduce(buffer.data(), buffer.data(), 8, ncclUint8, ncclSum, comm, stream.get()), ncclInProgress);
  EXPECT_EQ(cudaStreamQuery(stream.get()), cudaSuccess) << "nothing is on the stream yet";
  EXPECT_EQ(ncclAllReduce(buffer.data(), buffer.data(), 8, ncclUint8, ncclSum, comm, stream.get()), ncclInvalidUsage);
  ncclResult_t state = ncclInProgress;
  while (state == ncclInProgress) ASSERT_EQ(ncclCommGetAsyncError(comm, &state), ncclSuccess);
  EXPECT_EQ(state, ncclSuccess);
  EXPECT_EQ(cuda_double::Operations(), 1);
  EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
}

}  // namespace
}  // namespace engram
