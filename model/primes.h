// Consecutive primes, for the bucket sizes of the hash.

#ifndef ENGRAM_MODEL_PRIMES_H_
#define ENGRAM_MODEL_PRIMES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace engram {

// The first `count` primes that are >= `start`, ascending. `start` at most 2^40: division by trial takes 2^20 steps
// there.
std::vector<int64_t> PrimesFrom(uint64_t start, size_t count);

}  // namespace engram

#endif  // ENGRAM_MODEL_PRIMES_H_
