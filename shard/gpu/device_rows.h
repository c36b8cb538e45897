// Where a GPU finds the rows of a table. Plain data, read by kernels and passed on by the host.

#ifndef ENGRAM_SHARD_GPU_DEVICE_ROWS_H_
#define ENGRAM_SHARD_GPU_DEVICE_ROWS_H_

#include <cstddef>
#include <cstdint>

namespace engram {

// The rows of one layer that this rank owns; addresses as the GPU has them, both multiples of kTableAlignment.
struct alignas(16) DeviceRows {
  const uint8_t* codes = nullptr;   // [end - begin, head_dim]: row `begin` comes first
  const uint8_t* scales = nullptr;  // [end - begin, head_dim/32]
  uint64_t begin = 0;
  uint64_t end = 0;  // >= begin
};
inline constexpr size_t kTableAlignment = 16;

}  // namespace engram

#endif  // ENGRAM_SHARD_GPU_DEVICE_ROWS_H_
