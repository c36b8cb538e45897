// The constants of the n-gram hash: token map, multipliers, primes, offsets.

#ifndef ENGRAM_MODEL_HASH_CONSTANTS_H_
#define ENGRAM_MODEL_HASH_CONSTANTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/geometry.h"

namespace engram {

// A compressed id that takes no part in any n-gram (an image span). Comes only from a mask, never from a token.
inline constexpr int32_t kDead = -1;

// Bucket sizes are below 2^40.
inline constexpr int64_t kPrimeEnd = int64_t{1} << 40;

struct HashConstants {
  std::vector<int32_t> token_map;  // [V]: token id -> compressed id in [0, C)
  int32_t pad_id = 0;              // compressed id that stands for positions outside the sequence or behind a dead one
  std::vector<int64_t> multipliers;  // [layers, G], newest first
  std::vector<int64_t> primes;       // [layers, G-1, H]: bucket sizes
  std::vector<int64_t> offsets;      // [layers, K]: sum of the layer's primes before the column

  friend bool operator==(const HashConstants&, const HashConstants&) = default;
};

// The first `heads` primes for each n-gram size of each layer: walks up from `engram_vocab_size` afresh for every
// (layer, size) and never reuses a prime (EngramLayout of the reference). Returns [layers, G-1, H]. A start above 2^40
// gives primes above 2^40, which ValidateHashConstants refuses.
std::vector<int64_t> DerivePrimes(const Geometry& geometry, uint64_t engram_vocab_size);

// Per layer id l: numpy.random.default_rng(10007*l).integers(0, B, size=G), each v -> 2v+1, with
// B = max(1, (2^63-1)/C/2). Returns [layers, G].
std::vector<int64_t> DeriveMultipliers(const Geometry& geometry);

// Running sums of each layer's primes. [layers, G-1, H] -> [layers, K].
std::vector<int64_t> OffsetsOf(const Geometry& geometry, const std::vector<int64_t>& primes);

// INVALID_ARGUMENT naming what does not fit: lengths against the geometry, 0 <= id < C, pad in range, multipliers
// positive with (C-1)*max(multiplier) < 2^63, primes in [2, 2^40), offsets being the running sums and each layer's
// primes adding up to its rows; also what Geometry::Validate refuses.
absl::Status ValidateHashConstants(const Geometry& geometry, const HashConstants& constants);

// SHA-256 (32 bytes) of token map, pad, multipliers, primes, offsets, layer ids, rows, and [G, H, D, V, C]: each a list
// of numbers widened to 64 bits little-endian, preceded by how many they are.
std::string ConstantsDigest(const Geometry& geometry, const HashConstants& constants);

}  // namespace engram

#endif  // ENGRAM_MODEL_HASH_CONSTANTS_H_
