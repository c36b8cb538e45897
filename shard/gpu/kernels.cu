// The kernels as the GPU runs them; what they do is in kernel_bodies.h.

#include "shard/gpu/kernel_dispatch.h"

namespace engram {
namespace {

template <typename Body>
__global__ void __launch_bounds__(kThreadsPerBlock, kBlocksPerMultiprocessor) RunBody(const Body body) {
  body(uint64_t{blockIdx.x} * blockDim.x + threadIdx.x, uint64_t{gridDim.x} * blockDim.x);
}

template <typename Body>
absl::Status Launch(const Body& body, cudaStream_t stream) {
  ENGRAM_ASSIGN_OR_RETURN(const uint32_t multiprocessors, CountMultiprocessors());
  RunBody<<<BlocksFor(body.units(), multiprocessors), kThreadsPerBlock, 0, stream>>>(body);
  ENGRAM_RETURN_IF_CUDA_ERROR(cudaGetLastError());
  return absl::OkStatus();
}

}  // namespace

absl::Status LaunchGather(const GatherArgs& args, cudaStream_t stream) {
  return DispatchGather(args, [stream](const auto& body) { return Launch(body, stream); });
}

absl::Status LaunchDequantize(const DequantizeArgs& args, cudaStream_t stream) {
  return DispatchDequantize(args, [stream](const auto& body) { return Launch(body, stream); });
}

absl::Status LaunchPlace(const PlaceArgs& args, cudaStream_t stream) {
  return DispatchPlace(args, [stream](const auto& body) { return Launch(body, stream); });
}

absl::Status LaunchCanonicalNan(const CanonicalNanArgs& args, cudaStream_t stream) {
  return DispatchCanonicalNan(args, [stream](const auto& body) { return Launch(body, stream); });
}

absl::Status LaunchHash(const HashArgs& args, cudaStream_t stream) {
  return DispatchHash(args, [stream](const auto& body) { return Launch(body, stream); });
}

}  // namespace engram
