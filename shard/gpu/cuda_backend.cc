#include "shard/gpu/cuda_backend.h"

#include <memory>

#include "model/files/errors.h"
#include "shard/gpu/cuda_rank.h"
#include "shard/gpu/device_memory.h"

namespace engram {
namespace {

class AllDevices : public GpuBackend {
 public:
  absl::StatusOr<std::unique_ptr<GpuRank>> Open(int local_rank) override {
    const absl::StatusOr<int> devices = CountDevices();
    if (!devices.ok()) return Annotate(devices.status(), "no GPU");
    return CudaRank::Open(local_rank % *devices);
  }
};

}  // namespace

GpuBackend& CudaBackend() {
  static AllDevices devices;
  return devices;
}

}  // namespace engram
