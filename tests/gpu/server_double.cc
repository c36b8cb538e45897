// engram-server with the double's GPUs: the whole program without a card. Usage: as engram-server.

#include "server/process.h"
#include "shard/gpu/cuda_backend.h"

namespace engram {

GpuBackend* BuiltInGpu() { return &CudaBackend(); }

}  // namespace engram

int main(int argc, char** argv) { return engram::RunServerProgram(argc, argv); }
