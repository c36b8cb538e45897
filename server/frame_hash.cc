#include "server/frame_hash.h"

#include <algorithm>

#include "model/check.h"

namespace engram {
namespace {

// Hashes tokens [begin, end) of one segment to the front of `ids`; returns the rest of `ids`.
absl::Span<uint64_t> HashRun(const NgramHasher& hasher, size_t layer_index, const StepSegment& segment, uint64_t begin,
                             uint64_t end, absl::Span<uint64_t> ids) {
  const uint64_t first = segment.lookback + begin;
  // Fewer than lookback_max only where the sequence itself begins inside the window.
  const uint64_t lookback = std::min<uint64_t>(hasher.lookback_max(), first);
  const size_t count = (end - begin) * hasher.columns();
  ENGRAM_CHECK(count <= ids.size());
  hasher.Hash(layer_index, absl::MakeConstSpan(segment.window).subspan(first - lookback, lookback + end - begin),
              lookback, ids.first(count));
  return ids.subspan(count);
}

bool IsMasked(const StepSegment& segment, uint64_t token) { return segment.window[segment.lookback + token] == kDead; }

absl::Span<uint64_t> HashUnmasked(const NgramHasher& hasher, size_t layer_index, const StepSegment& segment,
                                  uint64_t begin, uint64_t end, absl::Span<uint64_t> ids) {
  while (begin < end) {
    uint64_t run_end = begin;
    while (run_end < end && !IsMasked(segment, run_end)) ++run_end;
    if (run_end > begin) ids = HashRun(hasher, layer_index, segment, begin, run_end, ids);
    begin = run_end + 1;
  }
  return ids;
}

}  // namespace

void HashFrame(const NgramHasher& hasher, const Step& step, const Frame& frame, absl::Span<uint64_t> ids) {
  uint64_t left = frame.token_count;
  uint64_t offset = frame.offset;
  for (size_t s = frame.segment; left > 0; ++s, offset = 0) {
    const StepSegment& segment = step.segments[s];
    const uint64_t end = std::min(offset + left, segment.tokens());
    left -= end - offset;
    ids = step.omit_masked_rows ? HashUnmasked(hasher, frame.layer_index, segment, offset, end, ids)
                                : HashRun(hasher, frame.layer_index, segment, offset, end, ids);
  }
  ENGRAM_CHECK(ids.empty());
}

}  // namespace engram
