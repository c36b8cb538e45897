// What one thread of the n-gram hash does; otherwise as kernel_bodies.h.

#ifndef ENGRAM_SHARD_GPU_HASH_BODY_H_
#define ENGRAM_SHARD_GPU_HASH_BODY_H_

#include <cstdint>

#include "shard/gpu/kernel_math.h"
#include "shard/gpu/kernels.h"
#include "shard/row_plan.h"

namespace engram {

// A thread makes one id, then others a whole grid further.
class HashIds {
 public:
  explicit HashIds(const HashArgs& args) : args_(args), columns_(args.columns) {}

  ENGRAM_HOST_DEVICE uint64_t units() const { return args_.tokens * args_.columns; }

  ENGRAM_HOST_DEVICE void operator()(uint64_t thread, uint64_t threads) const {
    for (uint64_t unit = thread; unit < units(); unit += threads) {
      const Division at = columns_(unit);
      args_.out[unit] = Hash(at.quotient, static_cast<uint32_t>(at.remainder));
    }
  }

 private:
  ENGRAM_HOST_DEVICE uint64_t Hash(uint64_t token, uint32_t column) const {
    const HashSegment segment =
        args_.segments[LastNotAbove(args_.segments, args_.segment_count, &HashSegment::row_begin, token)];
    const uint64_t rolling = Rolling(segment, segment.lookback + (token - segment.row_begin), column / args_.heads + 1);
    const uint64_t row = args_.layout[uint64_t{segment.layer_index} * args_.columns + column].RowOf(rolling);
    return args_.output == HashOutput::kEntries ? EntryOf(segment.layer_index, row) : row;
  }

  // The hash of position `at` of the segment's window and the `shifts` before it; NgramHasher::Hash says the rules.
  ENGRAM_HOST_DEVICE uint64_t Rolling(const HashSegment& segment, uint64_t at, uint32_t shifts) const {
    const uint32_t ngram_size_max = args_.columns / args_.heads + 1;
    const int32_t* window = args_.windows + segment.window_begin;
    const uint64_t* multipliers = args_.multipliers + uint64_t{segment.layer_index} * ngram_size_max;
    uint64_t rolling = 0;
    bool blocked = false;
    for (uint32_t shift = 0; shift <= shifts; ++shift) {
      blocked = blocked || at < shift || window[at - shift] == kDead;
      rolling ^= static_cast<uint64_t>(blocked ? args_.pad_id : window[at - shift]) * multipliers[shift];
    }
    return rolling;
  }

  HashArgs args_;
  Divider columns_;
};

}  // namespace engram

#endif  // ENGRAM_SHARD_GPU_HASH_BODY_H_
