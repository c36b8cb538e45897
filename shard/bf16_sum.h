// The sum of an all-reduce over bf16.

#ifndef ENGRAM_SHARD_BF16_SUM_H_
#define ENGRAM_SHARD_BF16_SUM_H_

#include <cstddef>
#include <cstdint>

#include "model/number_formats.h"

namespace engram {

// sum[i] += addend[i], in fp32, rounded to bf16.
inline void AddBf16(uint16_t* sum, const uint16_t* addend, size_t count) {
  for (size_t i = 0; i < count; ++i) sum[i] = FloatToBf16(Bf16ToFloat(sum[i]) + Bf16ToFloat(addend[i]));
}

}  // namespace engram

#endif  // ENGRAM_SHARD_BF16_SUM_H_
