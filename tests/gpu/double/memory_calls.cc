// The runtime's calls about memory, and copies.

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/gpu/double/machine.h"

using namespace engram;               // NOLINT: what follows is CUDA's own interface
using namespace engram::cuda_double;  // NOLINT

namespace {

cudaError_t AllocateBytes(Origin origin, void** data, size_t bytes) {
  Machine& machine = TheMachine();
  MutexLock lock(machine.mu);
  *data = nullptr;
  if (const cudaError_t failure = CurrentFailure(machine); failure != cudaSuccess) return failure;
  if (bytes == 0) return cudaSuccess;
  *data = Allocate(machine, origin, bytes);
  return *data == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}

// Freeing waits for the device: who frees behind a stalled operation waits for ever, as with the real runtime.
cudaError_t FreeBytes(Origin origin, void* data, cudaError_t unknown) {
  Machine& machine = TheMachine();
  MutexLock lock(machine.mu);
  if (data == nullptr) return cudaSuccess;
  const Memory* memory = Find(machine.memory, reinterpret_cast<uintptr_t>(data));
  if (memory == nullptr || memory->origin != origin) return unknown;
  const int device = memory->device;
  AwaitDevice(machine, device);
  memory = Find(machine.memory, reinterpret_cast<uintptr_t>(data));
  if (memory == nullptr) return unknown;  // freed by another thread meanwhile
  Release(machine, *memory);
  return FailureOf(machine, device);
}

enum class Side { kPageable, kPinned, kDevice, kOutside };

Side SideOf(Machine& machine, const void* data, uint64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(machine.mu) {
  const Memory* memory = Holder(machine, data);
  if (memory == nullptr) return Side::kPageable;
  if (!Holds(*memory, data, bytes)) return Side::kOutside;
  return memory->origin == Origin::kDevice ? Side::kDevice : Side::kPinned;
}

bool Agrees(cudaMemcpyKind kind, Side to, Side from) {
  if (to == Side::kOutside || from == Side::kOutside) return false;
  if (kind == cudaMemcpyDefault) return true;
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  return to_device == (to == Side::kDevice) && from_device == (from == Side::kDevice);
}

// Rows of bytes, `pitch` apart; one row for the copies without a pitch.
struct Rows {
  size_t width = 0;
  size_t height = 1;
  size_t to_pitch = 0;
  size_t from_pitch = 0;

  size_t to_bytes() const { return (height - 1) * to_pitch + width; }
  size_t from_bytes() const { return (height - 1) * from_pitch + width; }
};

// Runs on the stream: copies when both ends are still what they were.
void Copy(void* to, const void* from, Rows rows, Side to_side, Side from_side) {
  Machine& machine = TheMachine();
  {
    MutexLock lock(machine.mu);
    if (SideOf(machine, to, rows.to_bytes()) == to_side && SideOf(machine, from, rows.from_bytes()) == from_side) {
      for (size_t row = 0; row < rows.height; ++row) {
        std::memcpy(static_cast<char*>(to) + row * rows.to_pitch,
                    static_cast<const char*>(from) + row * rows.from_pitch, rows.width);
      }
      return;
    }
    machine.faults.push_back(
        absl::StrCat("a copy of ", rows.width * rows.height, " bytes ran after its memory was freed"));
  }
  FailOperation(cudaErrorIllegalAddress);
}

cudaError_t CopyRows(void* to, const void* from, Rows rows, cudaMemcpyKind kind, cudaStream_t stream) {
  Machine& machine = TheMachine();
  MutexLock lock(machine.mu);
  const std::shared_ptr<Stream> found = FindStream(machine, stream);
  if (found == nullptr) return cudaErrorInvalidResourceHandle;
  if (const cudaError_t failure = FailureOf(machine, found->device); failure != cudaSuccess) return failure;
  if (rows.width == 0 || rows.height == 0) return cudaSuccess;
  const Side to_side = SideOf(machine, to, rows.to_bytes());
  const Side from_side = SideOf(machine, from, rows.from_bytes());
  if (!Agrees(kind, to_side, from_side)) return cudaErrorInvalidValue;
  const bool pageable = to_side == Side::kPageable || from_side == Side::kPageable;
  if (pageable && found->capture != nullptr) return cudaErrorStreamCaptureUnsupported;
  if (from_side == Side::kPageable) {  // staged at once: the caller may reuse it
    const auto* begin = static_cast<const uint8_t*>(from);
    auto staged = std::make_shared<std::vector<uint8_t>>(begin, begin + rows.from_bytes());
    Enqueue(machine, *found, [=] { Copy(to, staged->data(), rows, to_side, Side::kPageable); });
  } else {
    Enqueue(machine, *found, [=] { Copy(to, from, rows, to_side, from_side); });
  }
  if (to_side == Side::kPageable) AwaitStream(machine, found);
  return FailureOf(machine, found->device);
}

}  // namespace

cudaError_t cudaMalloc(void** data, size_t bytes) { return Remember(AllocateBytes(Origin::kDevice, data, bytes)); }

cudaError_t cudaHostAlloc(void** data, size_t bytes, unsigned int /*flags*/) {
  return Remember(AllocateBytes(Origin::kPinned, data, bytes));
}

cudaError_t cudaFree(void* data) { return Remember(FreeBytes(Origin::kDevice, data, cudaErrorInvalidValue)); }

cudaError_t cudaFreeHost(void* data) { return Remember(FreeBytes(Origin::kPinned, data, cudaErrorInvalidValue)); }

cudaError_t cudaHostUnregister(void* data) {
  return Remember(FreeBytes(Origin::kRegistered, data, cudaErrorHostMemoryNotRegistered));
}

cudaError_t cudaHostRegister(void* data, size_t bytes, unsigned int /*flags*/) {
  Machine& machine = TheMachine();
  MutexLock lock(machine.mu);
  if (const cudaError_t failure = CurrentFailure(machine); failure != cudaSuccess) return Remember(failure);
  if (data == nullptr || bytes == 0) return Remember(cudaErrorInvalidValue);
  const auto begin = reinterpret_cast<uintptr_t>(data);
  const auto next = machine.memory.lower_bound(begin);
  const bool overlaps =
      Holder(machine, data) != nullptr || (next != machine.memory.end() && next->first < begin + bytes);
  if (overlaps) return Remember(cudaErrorHostMemoryAlreadyRegistered);
  if (FailsAcquisition(machine)) return Remember(cudaErrorMemoryAllocation);
  machine.memory[begin] = {Origin::kRegistered, CurrentDevice(), static_cast<uint8_t*>(data), bytes, nullptr};
  return cudaSuccess;
}

cudaError_t cudaHostGetDevicePointer(void** device_data, void* host_data, unsigned int /*flags*/) {
  Machine& machine = TheMachine();
  MutexLock lock(machine.mu);
  const Memory* memory = Holder(machine, host_data);
  if (memory == nullptr || memory->origin == Origin::kDevice) return Remember(cudaErrorInvalidValue);
  *device_data = host_data;
  return Remember(CurrentFailure(machine));
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* data) {
  Machine& machine = TheMachine();
  MutexLock lock(machine.mu);
  if (const cudaError_t failure = CurrentFailure(machine); failure != cudaSuccess) return Remember(failure);
  *attributes = {cudaMemoryTypeUnregistered, -1, nullptr, const_cast<void*>(data)};
  const Memory* memory = Holder(machine, data);
  if (memory == nullptr) return cudaSuccess;
  attributes->device = memory->device;
  attributes->devicePointer = attributes->hostPointer;
  attributes->type = memory->origin == Origin::kDevice ? cudaMemoryTypeDevice : cudaMemoryTypeHost;
  if (attributes->type == cudaMemoryTypeDevice) attributes->hostPointer = nullptr;
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  Machine& machine = TheMachine();
  MutexLock lock(machine.mu);
  const cudaError_t failure = CurrentFailure(machine);
  if (failure != cudaSuccess) return Remember(failure);
  *total_bytes = machine.plan.device_bytes;
  *free_bytes = machine.plan.device_bytes - machine.devices[static_cast<size_t>(CurrentDevice())].used;
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return Remember(CopyRows(to, from, {bytes, 1, bytes, bytes}, kind, stream));
}

cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  if (width > to_pitch || width > from_pitch) return Remember(cudaErrorInvalidPitchValue);
  return Remember(CopyRows(to, from, {width, height, to_pitch, from_pitch}, kind, stream));
}

cudaError_t cudaMemsetAsync(void* data, int value, size_t bytes, cudaStream_t stream) {
  Machine& machine = TheMachine();
  MutexLock lock(machine.mu);
  const std::shared_ptr<Stream> found = FindStream(machine, stream);
  if (found == nullptr || found->device != CurrentDevice()) return Remember(cudaErrorInvalidResourceHandle);
  if (const cudaError_t failure = FailureOf(machine, found->device); failure != cudaSuccess) return Remember(failure);
  if (bytes == 0) return cudaSuccess;
  const Memory* memory = Holder(machine, data);
  const bool reached = memory != nullptr && (memory->origin != Origin::kDevice || memory->device == found->device);
  if (!reached || !Holds(*memory, data, bytes)) return Remember(cudaErrorInvalidValue);
  Enqueue(machine, *found, [=] { std::memset(data, value, bytes); });
  return cudaSuccess;
}
