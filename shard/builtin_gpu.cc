// The one place that knows whether this program was built with CUDA.

#include "shard/engine.h"
#if ENGRAM_WITH_CUDA
#include "shard/gpu/cuda_backend.h"
#endif

namespace engram {

#if ENGRAM_WITH_CUDA
GpuBackend* BuiltInGpu() { return &CudaBackend(); }
#else
GpuBackend* BuiltInGpu() { return nullptr; }
#endif

}  // namespace engram
