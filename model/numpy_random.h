// numpy.random.default_rng, as far as the multipliers of the hash need it.

#ifndef ENGRAM_MODEL_NUMPY_RANDOM_H_
#define ENGRAM_MODEL_NUMPY_RANDOM_H_

#include <cstdint>

namespace engram {

// An unsigned integer of 128 bits; pedantic compilers want to be told that this is an extension.
__extension__ typedef unsigned __int128 Uint128;

// The generator of numpy.random.default_rng(seed): PCG64 (XSL-RR, 128 bits of state) seeded by SeedSequence. Gives the
// values of numpy >= 1.17. Not thread-safe.
class NumpyRandom {
 public:
  explicit NumpyRandom(uint64_t seed);

  uint64_t Next64();
  uint32_t Next32();  // low half of a 64-bit draw, then its high half

  // The next element of .integers(0, bound, size=n, dtype=int64): uniform in [0, bound), bound >= 1. Like numpy it
  // draws nothing for bound 1, 32-bit words where bound <= 2^32, 64-bit words above (Lemire's rejection).
  uint64_t Bounded(uint64_t bound);

 private:
  void Step();
  uint64_t Bounded32(uint64_t bound);
  uint64_t Bounded64(uint64_t bound);

  Uint128 state_ = 0;
  Uint128 increment_ = 0;
  bool has_high_half_ = false;
  uint32_t high_half_ = 0;
};

}  // namespace engram

#endif  // ENGRAM_MODEL_NUMPY_RANDOM_H_
