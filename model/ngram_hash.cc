#include "model/ngram_hash.h"

#include "model/check.h"

namespace engram {

NgramHasher::NgramHasher(const Geometry& geometry, const HashConstants& constants)
    : max_ngram_size_(geometry.max_ngram_size),
      heads_(geometry.heads),
      columns_(geometry.columns()),
      pad_id_(static_cast<uint64_t>(constants.pad_id)),
      multipliers_(constants.multipliers.begin(), constants.multipliers.end()) {
  const size_t count = geometry.layers() * columns_;
  ENGRAM_CHECK(multipliers_.size() == geometry.layers() * max_ngram_size_);
  ENGRAM_CHECK(constants.primes.size() == count && constants.offsets.size() == count);
  layout_.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const uint64_t prime = static_cast<uint64_t>(constants.primes[i]);
    ENGRAM_CHECK(prime >= 2);
    layout_.push_back({prime, ReciprocalOf(prime), static_cast<uint64_t>(constants.offsets[i])});
  }
}

void NgramHasher::Hash(size_t layer_index, absl::Span<const int32_t> window, size_t lookback,
                       absl::Span<uint64_t> ids) const {
  ENGRAM_CHECK(layer_index * columns_ < layout_.size());
  ENGRAM_CHECK(lookback <= window.size() && lookback <= lookback_max());
  ENGRAM_CHECK(ids.size() == (window.size() - lookback) * columns_);
  const uint64_t* multipliers = &multipliers_[layer_index * max_ngram_size_];
  uint64_t* out = ids.data();
  for (size_t at = lookback; at < window.size(); ++at) {
    const HashColumn* column = &layout_[layer_index * columns_];
    uint64_t rolling = 0;
    bool blocked = false;  // once the look-back left the sequence or met a dead id, all that is older is the pad
    for (uint32_t shift = 0; shift < max_ngram_size_; ++shift) {
      blocked = blocked || at < shift || window[at - shift] == kDead;
      const uint64_t id = blocked ? pad_id_ : static_cast<uint64_t>(window[at - shift]);
      rolling ^= id * multipliers[shift];
      if (shift == 0) continue;  // a 1-gram has no columns
      for (uint32_t head = 0; head < heads_; ++head, ++column) {
        *out++ = column->RowOf(rolling);
      }
    }
  }
}

}  // namespace engram
