#include "shard/gpu/device_memory.h"

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "shard/backoff.h"

namespace engram {
namespace {

// Asks until the answer is another than "not ready".
absl::Status Poll(std::string_view what, Deadline deadline, std::string_view call,
                  absl::FunctionRef<cudaError_t()> query) {
  Backoff backoff(kRoundPacing);
  for (;;) {
    const cudaError_t answer = query();
    if (answer != cudaErrorNotReady) return CudaStatus(answer, call);
    (void)cudaGetLastError();  // "not ready" stays behind as the thread's last error
    if (HasPassed(deadline)) {
      return absl::UnavailableError(absl::StrCat(std::string(what), " did not end in time on the device"));
    }
    backoff.Pause();
  }
}

// Behind an error of too little memory.
std::string FreeMemory() {
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  if (cudaMemGetInfo(&free_bytes, &total_bytes) != cudaSuccess) return "";
  return absl::StrCat("; ", free_bytes, " of ", total_bytes, " bytes are free");
}

}  // namespace

absl::StatusOr<int> CountDevices() {
  int count = 0;
  ENGRAM_RETURN_IF_CUDA_ERROR(cudaGetDeviceCount(&count));
  if (count == 0) return absl::FailedPreconditionError("the driver shows no GPU to this process");
  return count;
}

absl::Status UseDevice(int device) {
  int current = 0;
  ENGRAM_RETURN_IF_CUDA_ERROR(cudaGetDevice(&current));
  if (device == current) return absl::OkStatus();
  return CudaStatus(cudaSetDevice(device), absl::StrCat("cudaSetDevice(", device, ")"));
}

absl::StatusOr<DeviceBuffer> DeviceBuffer::Allocate(int device, uint64_t bytes, std::string_view purpose) {
  if (bytes == 0) return DeviceBuffer();
  ENGRAM_RETURN_IF_ERROR(UseDevice(device));
  void* data = nullptr;
  if (const cudaError_t error = cudaMalloc(&data, bytes); error != cudaSuccess) {
    const absl::Status status = CudaMemoryError(error, "cudaMalloc", bytes, purpose);
    return absl::Status(status.code(), absl::StrCat("device ", device, ": ", status.message(), FreeMemory()));
  }
  return DeviceBuffer(static_cast<std::byte*>(data), bytes);
}

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

DeviceBuffer::~DeviceBuffer() {
  if (data_ != nullptr) DropCudaError(cudaFree(data_));
}

absl::StatusOr<PinnedBuffer> PinnedBuffer::Allocate(int device, uint64_t bytes, std::string_view purpose) {
  if (bytes == 0) return PinnedBuffer();
  ENGRAM_RETURN_IF_ERROR(UseDevice(device));
  void* data = nullptr;
  const cudaError_t error = cudaHostAlloc(&data, bytes, cudaHostAllocPortable | cudaHostAllocMapped);
  if (error != cudaSuccess) return CudaMemoryError(error, "cudaHostAlloc", bytes, purpose);
  PinnedBuffer buffer(static_cast<std::byte*>(data), bytes, false);
  ENGRAM_RETURN_IF_ERROR(buffer.Map());
  return buffer;
}

absl::StatusOr<PinnedBuffer> PinnedBuffer::Register(int device, absl::Span<std::byte> memory,
                                                    std::string_view purpose) {
  if (memory.empty()) return PinnedBuffer();
  ENGRAM_RETURN_IF_ERROR(UseDevice(device));
  const cudaError_t error =
      cudaHostRegister(memory.data(), memory.size(), cudaHostRegisterPortable | cudaHostRegisterMapped);
  if (error != cudaSuccess) return CudaMemoryError(error, "cudaHostRegister", memory.size(), purpose);
  PinnedBuffer buffer(memory.data(), memory.size(), true);
  ENGRAM_RETURN_IF_ERROR(buffer.Map());
  return buffer;
}

absl::Status PinnedBuffer::Map() {
  void* mapped = nullptr;
  ENGRAM_RETURN_IF_CUDA_ERROR(cudaHostGetDevicePointer(&mapped, data_, 0));
  device_data_ = static_cast<std::byte*>(mapped);
  return absl::OkStatus();
}

PinnedBuffer::PinnedBuffer(PinnedBuffer&& other) noexcept { *this = std::move(other); }

PinnedBuffer& PinnedBuffer::operator=(PinnedBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(device_data_, other.device_data_);
  std::swap(bytes_, other.bytes_);
  std::swap(registered_, other.registered_);
  return *this;
}

PinnedBuffer::~PinnedBuffer() {
  if (data_ != nullptr) DropCudaError(registered_ ? cudaHostUnregister(data_) : cudaFreeHost(data_));
}

absl::StatusOr<Stream> Stream::Create(int device) {
  ENGRAM_RETURN_IF_ERROR(UseDevice(device));
  cudaStream_t stream = nullptr;
  ENGRAM_RETURN_IF_CUDA_ERROR(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return Stream(device, stream);
}

Stream& Stream::operator=(Stream&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(stream_, other.stream_);
  return *this;
}

Stream::~Stream() {
  if (stream_ != nullptr) DropCudaError(cudaStreamDestroy(stream_));
}

absl::Status Stream::Await(std::string_view what, Deadline deadline) const {
  return Poll(what, deadline, "cudaStreamQuery", [this] { return cudaStreamQuery(stream_); });
}

absl::StatusOr<Event> Event::Create(int device) {
  ENGRAM_RETURN_IF_ERROR(UseDevice(device));
  cudaEvent_t event = nullptr;
  ENGRAM_RETURN_IF_CUDA_ERROR(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  return Event(event);
}

Event& Event::operator=(Event&& other) noexcept {
  std::swap(event_, other.event_);
  return *this;
}

Event::~Event() {
  if (event_ != nullptr) DropCudaError(cudaEventDestroy(event_));
}

absl::Status Event::Record(const Stream& stream) {
  ENGRAM_RETURN_IF_CUDA_ERROR(cudaEventRecord(event_, stream.get()));
  return absl::OkStatus();
}

absl::Status Event::MakeWait(const Stream& stream) const {
  ENGRAM_RETURN_IF_CUDA_ERROR(cudaStreamWaitEvent(stream.get(), event_, 0));
  return absl::OkStatus();
}

absl::StatusOr<bool> Event::IsReached() const {
  const cudaError_t answer = cudaEventQuery(event_);
  if (answer == cudaSuccess) return true;
  if (answer != cudaErrorNotReady) return CudaError(answer, "cudaEventQuery");
  (void)cudaGetLastError();
  return false;
}

absl::Status Event::Await(std::string_view what, Deadline deadline) const {
  return Poll(what, deadline, "cudaEventQuery", [this] { return cudaEventQuery(event_); });
}

}  // namespace engram
