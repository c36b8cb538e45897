// GpuBackend over the CUDA runtime. No CUDA type appears here.

#ifndef ENGRAM_SHARD_GPU_CUDA_BACKEND_H_
#define ENGRAM_SHARD_GPU_CUDA_BACKEND_H_

#include "shard/gpu_backend.h"

namespace engram {

// Lives as long as the program.
GpuBackend& CudaBackend();

}  // namespace engram

#endif  // ENGRAM_SHARD_GPU_CUDA_BACKEND_H_
