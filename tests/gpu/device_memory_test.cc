// The owners of device memory, pinned memory, streams and events: on a GPU and in the double.

#include "shard/gpu/device_memory.h"

#include <gmock/gmock.h>

#include <numeric>
#include <utility>
#include <vector>

#include "tests/gpu/gpu_ranks.h"

namespace engram {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class DeviceMemory : public testing::Test {
 protected:
  void SetUp() override { ENGRAM_SKIP_WITHOUT_DEVICES(1); }

  static void Copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, const Stream& stream) {
    ASSERT_EQ(CudaStatus(cudaMemcpyAsync(to, from, bytes, kind, stream.get()), "copy"), absl::OkStatus());
  }
};

TEST_F(DeviceMemory, BytesComeBackFromTheDevice) {
  constexpr size_t kBytes = 1000;  // no multiple of anything
  const PinnedBuffer there = PinnedBuffer::Allocate(0, kBytes, "test bytes").value();
  const PinnedBuffer back = PinnedBuffer::Allocate(0, kBytes, "test bytes").value();
  const DeviceBuffer device = DeviceBuffer::Allocate(0, kBytes, "test bytes").value();
  const Stream stream = Stream::Create(0).value();
  for (size_t i = 0; i < kBytes; ++i) there.data()[i] = static_cast<std::byte>(i * 7);
  Copy(device.data(), there.data(), kBytes, cudaMemcpyHostToDevice, stream);
  Copy(back.data(), device.data(), kBytes, cudaMemcpyDeviceToHost, stream);
  ASSERT_EQ(stream.Await("the copies", InAMinute()), absl::OkStatus());
  EXPECT_EQ(back.data()[3], std::byte{21});
  EXPECT_TRUE(std::equal(back.data(), back.data() + kBytes, there.data()));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(device.data()) % 256, 0);
  EXPECT_EQ(device.size(), kBytes);
}

TEST_F(DeviceMemory, CopiesOfRowsLeaveTheBytesBetweenAlone) {
  const PinnedBuffer pinned = PinnedBuffer::Allocate(0, 12, "test bytes").value();
  const DeviceBuffer device = DeviceBuffer::Allocate(0, 24, "test bytes").value();
  const Stream stream = Stream::Create(0).value();
  for (size_t i = 0; i < 12; ++i) pinned.data()[i] = static_cast<std::byte>(i);
  ASSERT_EQ(cudaMemsetAsync(device.data(), 9, 24, stream.get()), cudaSuccess);
  Copy(device.data(), pinned.data(), 12, cudaMemcpyHostToDevice, stream);
  // Three rows of two bytes, 4 apart in the first half of the buffer and 3 in the second.
  const auto copy_rows = [&](size_t pitch) {
    return cudaMemcpy2DAsync(device.data() + 12, pitch, device.data() + 1, 4, 2, 3, cudaMemcpyDeviceToDevice,
                             stream.get());
  };
  ASSERT_EQ(copy_rows(3), cudaSuccess);
  Copy(pinned.data(), device.data() + 12, 12, cudaMemcpyDeviceToHost, stream);
  ASSERT_EQ(stream.Await("the copies", InAMinute()), absl::OkStatus());
  std::vector<int> bytes;
  for (size_t i = 0; i < 12; ++i) bytes.push_back(std::to_integer<int>(pinned.data()[i]));
  EXPECT_THAT(bytes, ElementsAre(1, 2, 9, 5, 6, 9, 9, 10, 9, 9, 9, 9));
  EXPECT_EQ(copy_rows(1), cudaErrorInvalidPitchValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidPitchValue);
}

TEST_F(DeviceMemory, RegisteredMemoryIsPinnedWhileItIsOwned) {
  std::vector<std::byte> memory(size_t{64} << 10, std::byte{5});
  for (int times = 0; times < 2; ++times) {  // the second fails if the first did not let go
    const absl::StatusOr<PinnedBuffer> pinned = PinnedBuffer::Register(0, absl::MakeSpan(memory), "test bytes");
    ASSERT_EQ(pinned.status(), absl::OkStatus());
    EXPECT_EQ(pinned->data(), memory.data());
    EXPECT_NE(pinned->device_data(), nullptr);
    const absl::Status again = PinnedBuffer::Register(0, absl::MakeSpan(memory), "the same bytes").status();
    EXPECT_THAT(std::string(again.message()), AllOf(HasSubstr("cudaHostRegister for 65536 bytes of the same bytes"),
                                                    HasSubstr("cudaErrorHostMemoryAlreadyRegistered")));
  }
}

TEST_F(DeviceMemory, NoBytesAreOrdinary) {
  EXPECT_EQ(DeviceBuffer::Allocate(0, 0, "nothing")->data(), nullptr);
  EXPECT_EQ(PinnedBuffer::Allocate(0, 0, "nothing")->data(), nullptr);
  EXPECT_EQ(PinnedBuffer::Register(0, {}, "nothing")->data(), nullptr);
}

TEST_F(DeviceMemory, MovingPassesTheMemoryOn) {
  DeviceBuffer first = DeviceBuffer::Allocate(0, 100, "the first").value();
  const std::byte* data = first.data();
  DeviceBuffer second = std::move(first);
  EXPECT_EQ(first.data(), nullptr);  // NOLINT: what is left is looked at
  EXPECT_EQ(second.data(), data);
  second = DeviceBuffer::Allocate(0, 200, "the second").value();
  EXPECT_EQ(second.size(), 200);
}

TEST_F(DeviceMemory, TooMuchIsAnErrorThatNamesTheCallAndTheBytes) {
  const absl::Status status = DeviceBuffer::Allocate(0, uint64_t{1} << 50, "codes of layer 1").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("device 0: cudaMalloc for 1125899906842624 bytes of codes of layer 1: out of memory"),
                    HasSubstr("bytes are free")));
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "the error stays behind for the next launch";
}

TEST_F(DeviceMemory, AnUnknownDeviceIsAnError) {
  const int device = CountDevices().value();
  EXPECT_THAT(std::string(DeviceBuffer::Allocate(device, 8, "nothing").status().message()),
              HasSubstr(absl::StrCat("cudaSetDevice(", device, ")")));
  EXPECT_FALSE(Stream::Create(-1).ok());
}

TEST_F(DeviceMemory, TheDeviceUsedLastStays) {
  ENGRAM_SKIP_WITHOUT_DEVICES(2);
  int device = 0;
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  ASSERT_EQ(UseDevice(1), absl::OkStatus());
  { const DeviceBuffer bytes = DeviceBuffer::Allocate(1, 8, "test bytes").value(); }
  ASSERT_EQ(cudaGetDevice(&device), cudaSuccess);
  EXPECT_EQ(device, 1);
}

TEST_F(DeviceMemory, AStreamWaitsForAnEventOfAnother) {
  constexpr size_t kBytes = size_t{1} << 20;
  const PinnedBuffer back = PinnedBuffer::Allocate(0, kBytes, "test bytes").value();
  const DeviceBuffer device = DeviceBuffer::Allocate(0, kBytes, "test bytes").value();
  const Stream first = Stream::Create(0).value();
  const Stream second = Stream::Create(0).value();
  Event event = Event::Create(0).value();
  for (int value = 1; value <= 20; ++value) {
    ASSERT_EQ(cudaMemsetAsync(device.data(), value, kBytes, first.get()), cudaSuccess);
    ASSERT_EQ(event.Record(first), absl::OkStatus());
    ASSERT_EQ(event.MakeWait(second), absl::OkStatus());
    Copy(back.data(), device.data(), kBytes, cudaMemcpyDeviceToHost, second);
    ASSERT_EQ(event.Record(second), absl::OkStatus());
    ASSERT_EQ(event.Await("the copy", InAMinute()), absl::OkStatus());
    EXPECT_TRUE(event.IsReached().value());
    EXPECT_EQ(back.data()[0], static_cast<std::byte>(value));
    EXPECT_EQ(back.data()[kBytes - 1], static_cast<std::byte>(value));
  }
}

}  // namespace
}  // namespace engram
