// Stands in for fill.cu: the same body, on the double's stream.

#include "tests/gpu/bench/fill.h"
#include "tests/gpu/double/cuda_double.h"

namespace engram::bench {

absl::Status LaunchFill(const FillArgs& args, cudaStream_t stream) {
  cuda_double::EnqueueOnStream(stream, [body = FillRows(args)] { body(0, 1); });
  ENGRAM_RETURN_IF_CUDA_ERROR(cudaGetLastError());
  return absl::OkStatus();
}

}  // namespace engram::bench
