// The double itself: it must be as unforgiving as a GPU.

#include "tests/gpu/double/cuda_double.h"

#include <gmock/gmock.h>

#include <cstring>
#include <vector>

#include "shard/gpu/device_memory.h"
#include "tests/gpu/gpu_ranks.h"

namespace engram::cuda_double {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr size_t kBytes = 1000;

class CudaDouble : public testing::Test {
 protected:
  void SetUp() override { Make(Plan()); }

  void Make(const Plan& plan) {
    device_ = {};
    pinned_ = {};
    stream_ = {};
    Install(plan);
    device_ = DeviceBuffer::Allocate(0, kBytes, "rows").value();
    pinned_ = PinnedBuffer::Allocate(0, kBytes, "ids").value();
    stream_ = engram::Stream::Create(0).value();
  }

  cudaError_t Copy(void* to, const void* from, cudaMemcpyKind kind) {
    return cudaMemcpyAsync(to, from, kBytes, kind, stream_.get());
  }
  void Synchronize() { ASSERT_EQ(cudaStreamSynchronize(stream_.get()), cudaSuccess); }
  std::vector<uint8_t> Pinned() const {
    const auto* first = reinterpret_cast<const uint8_t*>(pinned_.data());
    return {first, first + kBytes};
  }

  DeviceBuffer device_;
  PinnedBuffer pinned_;
  engram::Stream stream_;
};

TEST_F(CudaDouble, FreshMemoryIsPoison) {
  EXPECT_THAT(Pinned(), Each(kFreshByte));
  std::memset(pinned_.data(), 0, kBytes);
  ASSERT_EQ(Copy(pinned_.data(), device_.data(), cudaMemcpyDeviceToHost), cudaSuccess);
  Synchronize();
  EXPECT_THAT(Pinned(), Each(kFreshByte));
}

TEST_F(CudaDouble, NothingIsThereBeforeSynchronisation) {
  HoldStreams(true);
  ASSERT_EQ(cudaMemsetAsync(device_.data(), 7, kBytes, stream_.get()), cudaSuccess);
  ASSERT_EQ(Copy(pinned_.data(), device_.data(), cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(stream_.get()), cudaErrorNotReady);
  EXPECT_THAT(Pinned(), Each(kFreshByte));
  HoldStreams(false);
  Synchronize();
  EXPECT_EQ(cudaStreamQuery(stream_.get()), cudaSuccess);
  EXPECT_THAT(Pinned(), Each(7));
}

TEST_F(CudaDouble, PinnedMemoryIsReadLateAndPageableMemoryAtOnce) {
  HoldStreams(true);
  std::vector<uint8_t> pageable(kBytes, 1);
  ASSERT_EQ(Copy(device_.data(), pageable.data(), cudaMemcpyHostToDevice), cudaSuccess);
  std::memset(pageable.data(), 2, kBytes);
  const PinnedBuffer back = PinnedBuffer::Allocate(0, kBytes, "rows").value();
  ASSERT_EQ(Copy(back.data(), device_.data(), cudaMemcpyDeviceToHost), cudaSuccess);
  std::memset(pinned_.data(), 3, kBytes);
  ASSERT_EQ(Copy(device_.data(), pinned_.data(), cudaMemcpyHostToDevice), cudaSuccess);
  std::memset(pinned_.data(), 4, kBytes);
  HoldStreams(false);
  Synchronize();
  EXPECT_EQ(back.data()[0], std::byte{1});
  ASSERT_EQ(Copy(pageable.data(), device_.data(), cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_THAT(pageable, Each(4)) << "a copy to pageable memory returns when it is done";
}

TEST_F(CudaDouble, WritesOutsideAnAllocationAreSeen) {
  EXPECT_THAT(Faults(), IsEmpty());
  std::byte* end = device_.data() + kBytes;
  EnqueueOnStream(stream_.get(), [end] { *end = std::byte{0}; });
  Synchronize();
  EXPECT_THAT(Faults(), ElementsAre("written outside 1000 bytes of device 0"));
}

TEST_F(CudaDouble, WritesAfterFreeAreSeen) {
  std::byte* freed = DeviceBuffer::Allocate(0, 10, "rows")->data();
  EXPECT_FALSE(CanAccess(0, freed, 1));
  EnqueueOnStream(stream_.get(), [freed] { *freed = std::byte{0}; });
  Synchronize();
  EXPECT_THAT(Faults(), ElementsAre("written after free: 10 bytes of device 0"));
  EXPECT_EQ(cudaFree(freed), cudaErrorInvalidValue);
}

TEST_F(CudaDouble, CopiesStayInsideTheirMemoryAndKind) {
  std::vector<uint8_t> pageable(kBytes);
  std::byte* late = device_.data() + 1;
  EXPECT_EQ(Copy(late, pinned_.data(), cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(Copy(pinned_.data(), late, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_EQ(Copy(device_.data(), pageable.data(), cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(Copy(pageable.data(), pinned_.data(), cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  const auto copy_rows = [&](size_t rows) {  // of 10 bytes, 111 apart on the device; nine take 898 bytes, ten 1009
    return cudaMemcpy2DAsync(device_.data(), 111, pinned_.data(), 10, 10, rows, cudaMemcpyHostToDevice, stream_.get());
  };
  EXPECT_EQ(copy_rows(9), cudaSuccess);
  EXPECT_EQ(copy_rows(10), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemsetAsync(late, 0, kBytes, stream_.get()), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemsetAsync(pageable.data(), 0, kBytes, stream_.get()), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(CudaDouble, TheWrongDeviceIsAnError) {
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  EnqueueOnStream(stream_.get(), [] { FAIL() << "launched on a stream of another device"; });
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaMemsetAsync(device_.data(), 0, kBytes, stream_.get()), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(Copy(pinned_.data(), device_.data(), cudaMemcpyDeviceToHost), cudaSuccess) << "copies may";
  EXPECT_FALSE(CanAccess(1, device_.data(), kBytes));
  EXPECT_TRUE(CanAccess(0, device_.data(), kBytes));
  EXPECT_TRUE(CanAccess(1, pinned_.data(), kBytes));
  EXPECT_FALSE(CanAccess(0, device_.data() + 1, kBytes));
}

TEST_F(CudaDouble, ThereIsNoDefaultStream) {
  EnqueueOnStream(nullptr, [] {});
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaMemsetAsync(device_.data(), 0, kBytes, nullptr), cudaErrorInvalidResourceHandle);
}

TEST_F(CudaDouble, AFailedDeviceStaysFailedAndTheOthersDoNot) {
  EnqueueOnStream(stream_.get(), [] { FailOperation(cudaErrorIllegalAddress); });
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "the launch itself went well";
  EXPECT_EQ(cudaStreamSynchronize(stream_.get()), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaStreamQuery(stream_.get()), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress) << "it cannot be taken off";
  EXPECT_FALSE(DeviceBuffer::Allocate(0, 1, "rows").ok());
  EXPECT_TRUE(DeviceBuffer::Allocate(1, 1, "rows").ok());
}

TEST_F(CudaDouble, FreeMemoryIsCounted) {
  Plan plan;
  plan.device_bytes = 5000;
  Make(plan);
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  ASSERT_EQ(cudaMemGetInfo(&free_bytes, &total_bytes), cudaSuccess);
  EXPECT_EQ(free_bytes, 4000) << "pinned memory is the host's";
  EXPECT_EQ(total_bytes, 5000);
}

TEST_F(CudaDouble, WhatIsHeldIsALeak) {
  EXPECT_THAT(Leaks(), ::testing::UnorderedElementsAre("1000 bytes of device memory, device 0",
                                                       "1000 bytes of pinned memory, device 0", "1 streams"));
}

TEST_F(CudaDouble, ACapturedGraphRunsWhenItIsLaunched) {
  int runs = 0;
  ASSERT_EQ(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal), cudaSuccess);
  EnqueueOnStream(stream_.get(), [&runs] { ++runs; });
  std::vector<uint8_t> pageable(kBytes);
  EXPECT_EQ(Copy(device_.data(), pageable.data(), cudaMemcpyHostToDevice), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(Copy(device_.data(), pinned_.data(), cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream_.get()), cudaErrorStreamCaptureUnsupported);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream_.get(), &graph), cudaSuccess);
  Synchronize();
  EXPECT_EQ(runs, 0);
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  for (int launch = 0; launch < 3; ++launch) ASSERT_EQ(cudaGraphLaunch(executable, stream_.get()), cudaSuccess);
  Synchronize();
  EXPECT_EQ(runs, 3);
  EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
}

TEST_F(CudaDouble, ADestroyedStreamEndsItsWorkAndIsUnknown) {
  const cudaStream_t handle = stream_.get();
  ASSERT_EQ(Copy(pinned_.data(), device_.data(), cudaMemcpyDeviceToHost), cudaSuccess);
  stream_ = {};
  EXPECT_EQ(cudaStreamQuery(handle), cudaErrorInvalidResourceHandle);
  device_ = {};  // waits for the copy
  EXPECT_THAT(Faults(), IsEmpty());
}

}  // namespace
}  // namespace engram::cuda_double
