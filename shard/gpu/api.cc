#include "shard/gpu/api.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace engram {
namespace {

std::string_view View(const char* text) { return text == nullptr ? "" : text; }

absl::StatusCode CodeOf(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation:
      return absl::StatusCode::kResourceExhausted;
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorSystemDriverMismatch:
      return absl::StatusCode::kFailedPrecondition;
    case cudaErrorSystemNotReady:  // after a start of the machine: the driver, or the fabric between GPUs
    case cudaErrorDevicesUnavailable:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorLaunchTimeout:
      return absl::StatusCode::kUnavailable;
    default:
      return absl::StatusCode::kInternal;
  }
}

absl::StatusCode CodeOf(ncclResult_t result) {
  const bool misused = result == ncclInvalidArgument || result == ncclInvalidUsage;
  return misused ? absl::StatusCode::kInternal : absl::StatusCode::kUnavailable;
}

}  // namespace

absl::Status CudaError(cudaError_t error, std::string_view call) {
  (void)cudaGetLastError();
  return absl::Status(CodeOf(error), absl::StrCat(std::string(call), ": ", cudaGetErrorString(error), " (",
                                                  cudaGetErrorName(error), ")"));
}

absl::Status CudaMemoryError(cudaError_t error, std::string_view call, uint64_t bytes, std::string_view purpose) {
  return CudaError(error, absl::StrCat(std::string(call), " for ", bytes, " bytes of ", std::string(purpose)));
}

absl::Status NcclError(ncclResult_t result, std::string_view call) {
  // NCCL keeps the words of this thread's last failure.
  const std::string more(View(ncclGetLastError(nullptr)));
  return absl::Status(CodeOf(result), absl::StrCat(std::string(call), ": ", ncclGetErrorString(result),
                                                   more.empty() ? "" : ": ", more));
}

}  // namespace engram
