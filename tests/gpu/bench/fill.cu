// FillRows as the GPU runs it.

#include "shard/gpu/kernel_dispatch.h"
#include "tests/gpu/bench/fill.h"

namespace engram::bench {
namespace {

__global__ void __launch_bounds__(kThreadsPerBlock) RunFill(const FillRows body) {
  body(uint64_t{blockIdx.x} * blockDim.x + threadIdx.x, uint64_t{gridDim.x} * blockDim.x);
}

}  // namespace

absl::Status LaunchFill(const FillArgs& args, cudaStream_t stream) {
  const FillRows body(args);
  if (body.units() == 0) return absl::OkStatus();
  ENGRAM_ASSIGN_OR_RETURN(const uint32_t multiprocessors, CountMultiprocessors());
  RunFill<<<BlocksFor(body.units(), multiprocessors), kThreadsPerBlock, 0, stream>>>(body);
  ENGRAM_RETURN_IF_CUDA_ERROR(cudaGetLastError());
  return absl::OkStatus();
}

}  // namespace engram::bench
