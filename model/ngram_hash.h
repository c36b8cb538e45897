// The n-gram hash: compressed ids of a position and its look-back -> row ids.

#ifndef ENGRAM_MODEL_NGRAM_HASH_H_
#define ENGRAM_MODEL_NGRAM_HASH_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "model/geometry.h"
#include "model/hash_constants.h"
#include "model/number_formats.h"

namespace engram {

struct Division {
  uint64_t quotient;
  uint64_t remainder;
};

// r divided by a prime (by any divisor >= 2) by multiplication, for reciprocal = floor(2^64 / prime).
// Why one subtraction is enough: 2^64 = reciprocal * prime + e with 0 <= e < prime, so r * reciprocal / 2^64 = r /
// prime - (r / 2^64) * (e / prime), which falls short of r / prime by less than 1. Hence quotient is floor(r / prime)
// or one less, and r - quotient * prime lies in [0, 2 * prime). Holds for every 64-bit r; hashes are below 2^63.
ENGRAM_HOST_DEVICE inline Division DivideByReciprocal(uint64_t r, uint64_t prime, uint64_t reciprocal) {
#if defined(__CUDA_ARCH__)
  const uint64_t quotient = __umul64hi(r, reciprocal);
#else
  __extension__ typedef unsigned __int128 Wide;
  const uint64_t quotient = static_cast<uint64_t>((static_cast<Wide>(r) * reciprocal) >> 64);
#endif
  const uint64_t remainder = r - quotient * prime;
  return remainder >= prime ? Division{quotient + 1, remainder - prime} : Division{quotient, remainder};
}

ENGRAM_HOST_DEVICE inline uint64_t RemainderByReciprocal(uint64_t r, uint64_t prime, uint64_t reciprocal) {
  return DivideByReciprocal(r, prime, reciprocal).remainder;
}

// floor(2^64 / prime), prime >= 2.
inline uint64_t ReciprocalOf(uint64_t prime) {
  const uint64_t below = UINT64_MAX / prime;
  return UINT64_MAX % prime == prime - 1 ? below + 1 : below;  // 2^64 itself is a multiple only of powers of two
}

// One column of a layer: its bucket count and where its rows begin.
struct HashColumn {
  uint64_t prime;
  uint64_t reciprocal;  // floor(2^64 / prime): the remainder needs a multiplication, not a division
  uint64_t offset;

  ENGRAM_HOST_DEVICE uint64_t RowOf(uint64_t rolling) const {
    return RemainderByReciprocal(rolling, prime, reciprocal) + offset;
  }
};

// Immutable after construction; any number of threads may call Hash.
class NgramHasher {
 public:
  // `constants` must be valid for `geometry` (ValidateHashConstants).
  NgramHasher(const Geometry& geometry, const HashConstants& constants);

  uint32_t columns() const { return columns_; }
  uint32_t lookback_max() const { return max_ngram_size_ - 1; }

  // What the hash is made of, for those who hash elsewhere.
  uint32_t heads() const { return heads_; }
  int32_t pad_id() const { return static_cast<int32_t>(pad_id_); }
  absl::Span<const uint64_t> multipliers() const { return multipliers_; }  // [layers, G], newest first
  absl::Span<const HashColumn> layout() const { return layout_; }          // [layers, K]

  // Row ids of one layer for consecutive positions.
  //   window   compressed ids (kDead = dead), oldest first: `lookback` ids before the first position, then the
  //   positions. lookback at most lookback_max(); fewer only where the sequence begins inside the window: what lies
  //   before is padded. ids      [window.size() - lookback, K] row-major, the layer's offsets included. Always below
  //   the layer's rows.
  // A look-back that leaves the sequence or meets a dead id is the pad from there on back (the reference's sticky
  // block).
  void Hash(size_t layer_index, absl::Span<const int32_t> window, size_t lookback, absl::Span<uint64_t> ids) const;

 private:
  uint32_t max_ngram_size_;
  uint32_t heads_;
  uint32_t columns_;
  uint64_t pad_id_;
  std::vector<uint64_t> multipliers_;  // [layers, G]
  std::vector<HashColumn> layout_;     // [layers, K]
};

}  // namespace engram

#endif  // ENGRAM_MODEL_NGRAM_HASH_H_
