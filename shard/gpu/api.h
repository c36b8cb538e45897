// Checked calls of the CUDA runtime and of NCCL. Only shard/gpu/ and tests/gpu/ may include this: nothing else sees a
// CUDA header.
//
// The calls are the libraries' own; nothing stands between in a real build. Without a GPU the two headers come from
// tests/gpu/double/, and the same sources run there.

#ifndef ENGRAM_SHARD_GPU_API_H_
#define ENGRAM_SHARD_GPU_API_H_

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "model/files/errors.h"

namespace engram {

// The error of a failed call: "CALL: text (name)", with " for N bytes of PURPOSE" behind the call where bytes were
// asked for. RESOURCE_EXHAUSTED when memory is lacking, FAILED_PRECONDITION where there is no GPU or no driver for it,
// UNAVAILABLE when the device, its driver or a peer is lost or not ready yet, INTERNAL when the call was wrong. Also
// takes the error off the thread: the next check of a launch must not find it.
absl::Status CudaError(cudaError_t error, std::string_view call);
absl::Status CudaMemoryError(cudaError_t error, std::string_view call, uint64_t bytes, std::string_view purpose);
absl::Status NcclError(ncclResult_t result, std::string_view call);

inline absl::Status CudaStatus(cudaError_t error, std::string_view call) {
  return error == cudaSuccess ? absl::OkStatus() : CudaError(error, call);
}

inline absl::Status NcclStatus(ncclResult_t result, std::string_view call) {
  return result == ncclSuccess ? absl::OkStatus() : NcclError(result, call);
}

// For destructors, which have nobody to tell: what is broken for good is told by the next checked call.
inline void DropCudaError(cudaError_t error) noexcept {
  if (error != cudaSuccess) (void)cudaGetLastError();
}
inline void DropNcclError(ncclResult_t /*result*/) noexcept {}

}  // namespace engram

#define ENGRAM_RETURN_IF_CUDA_ERROR(call) ENGRAM_RETURN_IF_ERROR(::engram::CudaStatus((call), #call))
#define ENGRAM_RETURN_IF_NCCL_ERROR(call) ENGRAM_RETURN_IF_ERROR(::engram::NcclStatus((call), #call))

#endif  // ENGRAM_SHARD_GPU_API_H_
