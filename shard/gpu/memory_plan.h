// Whether what a rank is about to hold fits on its GPU and beside it. Arithmetic alone: nothing of CUDA is asked here.

#ifndef ENGRAM_SHARD_GPU_MEMORY_PLAN_H_
#define ENGRAM_SHARD_GPU_MEMORY_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "shard/engine.h"
#include "shard/gpu_backend.h"

namespace engram {

// Where codes and scales begin in device memory: multiples of this, as cudaMalloc has it.
inline constexpr uint64_t kTablePartAlignment = 256;

// One table's rows as a GPU reads them: all codes, then all scales, both aligned. Bytes.
struct TableLayout {
  uint64_t codes = 0;         // rows * head_dim
  uint64_t scales = 0;        // rows * head_dim/32
  uint64_t scales_begin = 0;  // codes, rounded up to the alignment

  uint64_t total() const { return scales_begin + scales; }
};
TableLayout LayoutOf(uint64_t rows, uint32_t head_dim);

// What the buffers of a rank's rounds take (round_buffers.h). Bytes.
struct RoundBytes {
  uint64_t device = 0;
  uint64_t pinned = 0;  // on the host
};

// What there is of memory before anything of the shard is allocated. Bytes.
struct MemoryThere {
  std::string device;  // its name, for the lines
  uint64_t device_free = 0;
  uint64_t device_total = 0;
  uint64_t host_available = 0;
};

// Left free on a device of `total` bytes: for the context's growth, NCCL's channels, and the blocks that tables are
// loaded through.
inline constexpr uint64_t kDeviceReserveLeast = uint64_t{512} << 20;
inline constexpr uint64_t kDeviceReservePercent = 2;
uint64_t DeviceReserve(uint64_t total);

// A line for each layer, one for the rounds, one for the front end's replies, one for the device's sum and one for the
// host's. RESOURCE_EXHAUSTED when
// either sum does not fit: the same lines, and which layers as HOST_PINNED would make it fit, where some can.
absl::StatusOr<std::vector<std::string>> PlanMemory(const GpuLoad& load, RoundBytes rounds, const MemoryThere& there);

}  // namespace engram

#endif  // ENGRAM_SHARD_GPU_MEMORY_PLAN_H_
