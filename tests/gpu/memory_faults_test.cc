// The owners when something fails: in the double alone.

#include <gmock/gmock.h>

#include <vector>

#include "shard/gpu/device_memory.h"
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

constexpr int kDevice = 1;  // not the one that is current by default

// What a rank's start and one round take, in short.
absl::Status OneRound() {
  std::vector<std::byte> table(4096);
  ENGRAM_ASSIGN_OR_RETURN(const Stream stream, Stream::Create(kDevice));
  ENGRAM_ASSIGN_OR_RETURN(Event event, Event::Create(kDevice));
  ENGRAM_ASSIGN_OR_RETURN(const DeviceBuffer rows, DeviceBuffer::Allocate(kDevice, 1000, "rows"));
  ENGRAM_ASSIGN_OR_RETURN(const PinnedBuffer ids, PinnedBuffer::Allocate(kDevice, 1000, "ids"));
  ENGRAM_ASSIGN_OR_RETURN(const PinnedBuffer pinned, PinnedBuffer::Register(kDevice, absl::MakeSpan(table), "table"));
  for (int round = 0; round < 2; ++round) {
    ENGRAM_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(rows.data(), ids.data(), 1000, cudaMemcpyHostToDevice, stream.get()));
    ENGRAM_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(ids.data(), rows.data(), 1000, cudaMemcpyDeviceToHost, stream.get()));
    ENGRAM_RETURN_IF_ERROR(event.Record(stream));
    ENGRAM_RETURN_IF_ERROR(event.Await("the round", InAMinute()));
  }
  return absl::OkStatus();
}

void ExpectClean() {
  EXPECT_THAT(Leaks(), IsEmpty());
  EXPECT_THAT(Faults(), IsEmpty());
}

TEST(MemoryFaults, ARoundLeavesNothingBehind) {
  Install(Plan());
  EXPECT_EQ(OneRound(), absl::OkStatus());
  EXPECT_EQ(cuda_double::Acquisitions(), 5);
  EXPECT_EQ(cuda_double::Operations(), 6);
  ExpectClean();
}

TEST(MemoryFaults, OutOfMemoryAtEveryAcquisition) {
  constexpr const char* kCalls[] = {"cudaStreamCreateWithFlags", "cudaEventCreateWithFlags",
                                    "device 1: cudaMalloc for 1000 bytes of rows",
                                    "cudaHostAlloc for 1000 bytes of ids", "cudaHostRegister for 4096 bytes of table"};
  for (int64_t at = 1; at <= 5; ++at) {
    SCOPED_TRACE(at);
    Plan plan;
    plan.fail_acquisition = at;
    Install(plan);
    const absl::Status status = OneRound();
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(std::string(status.message()), HasSubstr(kCalls[at - 1]));
    EXPECT_THAT(std::string(status.message()), HasSubstr("out of memory (cudaErrorMemoryAllocation)"));
    EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "left for the next launch to stumble over";
    ExpectClean();
  }
}

TEST(MemoryFaults, ADeviceThatFailsAtAnyOperation) {
  for (int64_t at = 1; at <= 6; ++at) {
    SCOPED_TRACE(at);
    Plan plan;
    plan.fail_operation = at;
    Install(plan);
    const absl::Status status = OneRound();
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
    EXPECT_THAT(std::string(status.message()), HasSubstr("illegal memory access"));
    ExpectClean();
  }
}

TEST(MemoryFaults, ALostDeviceIsUnavailable) {
  Plan plan;
  plan.fail_operation = 2;
  plan.operation_error = cudaErrorECCUncorrectable;
  Install(plan);
  EXPECT_EQ(OneRound().code(), absl::StatusCode::kUnavailable);
  ExpectClean();
}

TEST(MemoryFaults, NoDevice) {
  Plan plan;
  plan.devices = 0;
  Install(plan);
  EXPECT_EQ(CountDevices().status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(OneRound().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(MemoryFaults, ADeviceThatIsFullSaysHowFull) {
  Plan plan;
  plan.device_bytes = 10000;
  Install(plan);
  const DeviceBuffer first = DeviceBuffer::Allocate(kDevice, 6000, "codes").value();
  const absl::Status status = DeviceBuffer::Allocate(kDevice, 6000, "scales").status();
  EXPECT_EQ(status, absl::ResourceExhaustedError("device 1: cudaMalloc for 6000 bytes of scales: out of memory "
                                                 "(cudaErrorMemoryAllocation); 4000 of 10000 bytes are free"));
  EXPECT_EQ(DeviceBuffer::Allocate(0, 6000, "scales").status(), absl::OkStatus()) << "another device has its own";
}

TEST(MemoryFaults, AWaitEndsAtItsDeadline) {
  Install(Plan());
  const DeviceBuffer rows = DeviceBuffer::Allocate(kDevice, 1000, "rows").value();
  const Stream stream = Stream::Create(kDevice).value();
  Event event = Event::Create(kDevice).value();
  cuda_double::HoldStreams(true);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  cuda_double::EnqueueOnStream(stream.get(), [] {});
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidResourceHandle) << "device 0 is the current one";
  ASSERT_EQ(event.Record(stream), absl::OkStatus());
  const absl::Status late = absl::UnavailableError("the gather did not end in time on the device");
  EXPECT_EQ(stream.Await("the gather", DeadlineAfter(absl::Milliseconds(20))), late);
  EXPECT_EQ(event.Await("the gather", DeadlineAfter(absl::Milliseconds(20))), late);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "not being ready is no error";
  EXPECT_FALSE(event.IsReached().value());
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  cuda_double::HoldStreams(false);
  EXPECT_EQ(event.Await("the gather", InAMinute()), absl::OkStatus());
}

TEST(MemoryFaults, AnEventOfAnotherDeviceIsRefused) {
  Install(Plan());
  const Stream stream = Stream::Create(0).value();
  Event event = Event::Create(kDevice).value();
  EXPECT_THAT(std::string(event.Record(stream).message()), HasSubstr("cudaErrorInvalidResourceHandle"));
}

}  // namespace
}  // namespace engram
