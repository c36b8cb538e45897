#include "shard/gpu/cuda_backend.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "shard/gpu/cuda_rank.h"
#include "shard/gpu/device_memory.h"

namespace engram {
namespace {

// Others pass: after a start of the machine the driver, or the fabric between GPUs, may not be ready yet.
bool StaysSo(cudaError_t error) { return error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver; }

class AllDevices : public GpuBackend {
 public:
  absl::StatusOr<std::unique_ptr<GpuRank>> Open(int local_rank) override {
    int devices = 0;
    const cudaError_t error = cudaGetDeviceCount(&devices);
    if (error != cudaSuccess) {
      const absl::Status status = CudaError(error, "no GPU: cudaGetDeviceCount");
      return StaysSo(error) ? absl::FailedPreconditionError(status.message()) : status;
    }
    if (devices == 0) return absl::FailedPreconditionError("no GPU: the driver shows none to this process");
    return CudaRank::Open(local_rank % devices);
  }
};

}  // namespace

GpuBackend& CudaBackend() {
  static AllDevices devices;
  return devices;
}

}  // namespace engram
