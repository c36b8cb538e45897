// The runtime's calls about errors and devices.

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "tests/gpu/double/machine.h"

using namespace engram;               // NOLINT: what follows is CUDA's own interface
using namespace engram::cuda_double;  // NOLINT

namespace {

struct ErrorText {
  cudaError_t error;
  const char* name;
  const char* text;
};

constexpr ErrorText kErrorTexts[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInvalidPitchValue, "cudaErrorInvalidPitchValue", "invalid pitch argument"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorECCUncorrectable, "cudaErrorECCUncorrectable", "uncorrectable ECC error encountered"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {cudaErrorHostMemoryAlreadyRegistered, "cudaErrorHostMemoryAlreadyRegistered",
     "part or all of the requested memory range is already mapped"},
    {cudaErrorHostMemoryNotRegistered, "cudaErrorHostMemoryNotRegistered",
     "pointer does not correspond to a registered memory region"},
    {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
};

const ErrorText& TextOf(cudaError_t error) {
  static constexpr ErrorText kOther = {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"};
  const auto* found = std::find_if(std::begin(kErrorTexts), std::end(kErrorTexts),
                                   [error](const ErrorText& text) { return text.error == error; });
  return found == std::end(kErrorTexts) ? kOther : *found;
}

cudaError_t CheckDevice(int device) {
  Machine& machine = TheMachine();
  MutexLock lock(machine.mu);
  if (machine.devices.empty()) return cudaErrorNoDevice;
  return device >= 0 && device < static_cast<int>(machine.devices.size()) ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t FailureOrLast(bool clear) {
  Machine& machine = TheMachine();
  MutexLock lock(machine.mu);
  const cudaError_t last = LastError(clear);
  const cudaError_t failure = CurrentFailure(machine);
  return failure != cudaSuccess ? failure : last;
}

}  // namespace

const char* cudaGetErrorName(cudaError_t error) { return TextOf(error).name; }
const char* cudaGetErrorString(cudaError_t error) { return TextOf(error).text; }
cudaError_t cudaGetLastError() { return FailureOrLast(true); }
cudaError_t cudaPeekAtLastError() { return FailureOrLast(false); }

cudaError_t cudaGetDeviceCount(int* count) {
  Machine& machine = TheMachine();
  MutexLock lock(machine.mu);
  *count = static_cast<int>(machine.devices.size());
  return Remember(machine.devices.empty() ? cudaErrorNoDevice : cudaSuccess);
}

cudaError_t cudaGetDevice(int* device) {
  *device = CurrentDevice();
  return Remember(CheckDevice(*device));
}

cudaError_t cudaSetDevice(int device) {
  const cudaError_t error = CheckDevice(device);
  if (error == cudaSuccess) SetCurrentDevice(device);
  return Remember(error);
}

cudaError_t cudaDeviceSynchronize() {
  Machine& machine = TheMachine();
  MutexLock lock(machine.mu);
  AwaitDevice(machine, CurrentDevice());
  return Remember(CurrentFailure(machine));
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (const cudaError_t error = CheckDevice(device); error != cudaSuccess) return Remember(error);
  Machine& machine = TheMachine();
  MutexLock lock(machine.mu);
  *properties = {};
  std::snprintf(properties->name, sizeof(properties->name), "double of a GPU, number %d", device);
  std::snprintf(properties->uuid.bytes, sizeof(properties->uuid.bytes), "double %d", device);
  properties->totalGlobalMem = machine.plan.device_bytes;
  properties->major = 9;
  properties->multiProcessorCount = 4;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  cudaDeviceProp properties;
  if (const cudaError_t error = cudaGetDeviceProperties(&properties, device); error != cudaSuccess) return error;
  *value = attribute == cudaDevAttrMultiProcessorCount      ? properties.multiProcessorCount
           : attribute == cudaDevAttrComputeCapabilityMajor ? properties.major
                                                            : properties.minor;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* bus_id, int length, int device) {
  if (const cudaError_t error = CheckDevice(device); error != cudaSuccess) return Remember(error);
  std::snprintf(bus_id, static_cast<size_t>(length), "0000:%02x:00.0", device + 1);
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
