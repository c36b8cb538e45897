// Arithmetic of indices that all kernel bodies share. Private to them.

#ifndef ENGRAM_SHARD_GPU_KERNEL_MATH_H_
#define ENGRAM_SHARD_GPU_KERNEL_MATH_H_

#include <cstdint>

#include "model/ngram_hash.h"

namespace engram {

// Division by a number known at the launch, without dividing on the GPU.
struct Divider {
  uint64_t divisor;
  uint64_t reciprocal;

  explicit Divider(uint64_t by) : divisor(by), reciprocal(by == 1 ? UINT64_MAX : ReciprocalOf(by)) {}
  ENGRAM_HOST_DEVICE Division operator()(uint64_t value) const {
    return DivideByReciprocal(value, divisor, reciprocal);
  }
};

// Index of the last of `items` whose `begin` is not above `at`. The first begins at 0.
template <typename Item>
ENGRAM_HOST_DEVICE inline uint32_t LastNotAbove(const Item* items, uint32_t count, uint64_t Item::*begin, uint64_t at) {
  uint32_t low = 0;
  for (uint32_t high = count; high - low > 1;) {
    const uint32_t middle = low + (high - low) / 2;
    (items[middle].*begin <= at ? low : high) = middle;
  }
  return low;
}

}  // namespace engram

#endif  // ENGRAM_SHARD_GPU_KERNEL_MATH_H_
