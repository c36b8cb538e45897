// The n-gram hash: compressed ids of a position and its look-back -> row ids.

#ifndef ENGRAM_MODEL_NGRAM_HASH_H_
#define ENGRAM_MODEL_NGRAM_HASH_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "model/geometry.h"
#include "model/hash_constants.h"

namespace engram {

// Immutable after construction; any number of threads may call Hash.
class NgramHasher {
 public:
  // `constants` must be valid for `geometry` (ValidateHashConstants).
  NgramHasher(const Geometry& geometry, const HashConstants& constants);

  uint32_t columns() const { return columns_; }
  uint32_t lookback_max() const { return max_ngram_size_ - 1; }

  // Row ids of one layer for consecutive positions.
  //   window   compressed ids (kDead = dead), oldest first: `lookback` ids before the first position, then the positions.
  //   lookback at most lookback_max(); fewer only where the sequence begins inside the window: what lies before is padded.
  //   ids      [window.size() - lookback, K] row-major, the layer's offsets included.
  // A look-back that leaves the sequence or meets a dead id is the pad from there on back (the reference's sticky block).
  void Hash(size_t layer_index, absl::Span<const int32_t> window, size_t lookback, absl::Span<uint64_t> ids) const;

 private:
  struct Column {
    uint64_t prime;
    uint64_t reciprocal;  // floor(2^64 / prime): the remainder needs a multiplication, not a division
    uint64_t offset;
  };

  uint32_t max_ngram_size_;
  uint32_t heads_;
  uint32_t columns_;
  uint64_t pad_id_;
  std::vector<uint64_t> multipliers_;  // [layers, G]
  std::vector<Column> layout_;         // [layers, K]
};

}  // namespace engram

#endif  // ENGRAM_MODEL_NGRAM_HASH_H_
