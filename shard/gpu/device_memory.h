// Owners of what the CUDA runtime hands out: device memory, pinned host memory, streams and events.
//
// Each is made for one device, movable, used by one thread at a time, and gives back what it holds when it goes, after
// failures too. Freeing memory waits until the device is idle, so operations that may never end are aborted before
// (nccl_comm.h). Errors are those of api.h.

#ifndef ENGRAM_SHARD_GPU_DEVICE_MEMORY_H_
#define ENGRAM_SHARD_GPU_DEVICE_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shard/deadline.h"
#include "shard/gpu/api.h"

namespace engram {

// How many devices this process sees, at least 1. FAILED_PRECONDITION naming why when there is none; UNAVAILABLE when
// the driver is not ready yet.
absl::StatusOr<int> CountDevices();

// Makes a device the calling thread's current one, which it stays: a rank's thread has one device, and to go back to
// another, device 0 above all, would make a context there that nobody uses.
absl::Status UseDevice(int device);

// Bytes in a device's own memory, 256-byte aligned, not cleared.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  // RESOURCE_EXHAUSTED naming `purpose`, the size and what is free. 0 bytes are ordinary: data() is null.
  static absl::StatusOr<DeviceBuffer> Allocate(int device, uint64_t bytes, std::string_view purpose);

  DeviceBuffer(DeviceBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;
  ~DeviceBuffer();

  std::byte* data() const { return data_; }  // for the device alone
  uint64_t size() const { return bytes_; }

 private:
  DeviceBuffer(std::byte* data, uint64_t bytes) : data_(data), bytes_(bytes) {}

  std::byte* data_ = nullptr;
  uint64_t bytes_ = 0;
};

// Host memory that every device of the process reads and writes directly, and copies to and from asynchronously.
class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  // Not cleared. As DeviceBuffer::Allocate; `device`: the one it is mostly used with.
  static absl::StatusOr<PinnedBuffer> Allocate(int device, uint64_t bytes, std::string_view purpose);
  // Pins memory that is there; `memory` must outlive this.
  static absl::StatusOr<PinnedBuffer> Register(int device, absl::Span<std::byte> memory, std::string_view purpose);

  PinnedBuffer(PinnedBuffer&& other) noexcept;
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept;
  ~PinnedBuffer();

  std::byte* data() const { return data_; }
  uint64_t size() const { return bytes_; }
  std::byte* device_data() const { return device_data_; }  // the same bytes, as kernels see them

 private:
  PinnedBuffer(std::byte* data, uint64_t bytes, bool registered)
      : data_(data), bytes_(bytes), registered_(registered) {}

  absl::Status Map();

  std::byte* data_ = nullptr;
  std::byte* device_data_ = nullptr;
  uint64_t bytes_ = 0;
  bool registered_ = false;  // else allocated here
};

// A queue of operations of one device. Never the default stream.
class Stream {
 public:
  Stream() = default;
  static absl::StatusOr<Stream> Create(int device);

  Stream(Stream&& other) noexcept : device_(other.device_), stream_(std::exchange(other.stream_, nullptr)) {}
  Stream& operator=(Stream&& other) noexcept;
  ~Stream();

  int device() const { return device_; }
  cudaStream_t get() const { return stream_; }

  // OK once all that is on the stream now is done. UNAVAILABLE naming `what` at the deadline: it goes on nevertheless.
  absl::Status Await(std::string_view what, Deadline deadline) const;

 private:
  Stream(int device, cudaStream_t stream) : device_(device), stream_(stream) {}

  int device_ = 0;
  cudaStream_t stream_ = nullptr;
};

// A place in a stream, without a clock.
class Event {
 public:
  Event() = default;
  static absl::StatusOr<Event> Create(int device);

  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&& other) noexcept;
  ~Event();

  cudaEvent_t get() const { return event_; }

  // Behind what is on `stream` now; of the same device.
  absl::Status Record(const Stream& stream);
  // `stream` (of any device) does not go on before the place recorded last.
  absl::Status MakeWait(const Stream& stream) const;
  // Whether all before the place recorded last is done.
  absl::StatusOr<bool> IsReached() const;
  // As Stream::Await.
  absl::Status Await(std::string_view what, Deadline deadline) const;

 private:
  explicit Event(cudaEvent_t event) : event_(event) {}

  cudaEvent_t event_ = nullptr;
};

}  // namespace engram

#endif  // ENGRAM_SHARD_GPU_DEVICE_MEMORY_H_
