// The longest request that a server reads: one rule for the server, which enforces it, and the client, which asks
// first.

#ifndef ENGRAM_MODEL_REQUEST_BOUND_H_
#define ENGRAM_MODEL_REQUEST_BOUND_H_

#include <algorithm>
#include <cstdint>

namespace engram {

// What a message may have besides tokens and segments: Hello, layers, what newer clients add; and, generously, room to
// be a little beyond the limits and be told so.
inline constexpr uint64_t kRequestRestBytes = uint64_t{4} << 20;

// An upper bound, in bytes, of a message within the limits: five bytes an id, one a mask, and room for each segment's
// own fields, the look-back it needs and the name of the client it forks from. Longer look-back counts as tokens.
inline uint64_t RequestBytesMax(uint64_t step_tokens_max, uint64_t segments_max,
                                uint64_t rest_bytes = kRequestRestBytes) {
  constexpr uint64_t kTokenBytes = 6;
  constexpr uint64_t kSegmentBytes = 512;
  constexpr uint64_t kMax = uint64_t{1} << 30;
  if (step_tokens_max > kMax || segments_max > kMax) return kMax;  // the sum below cannot overflow
  return std::min(rest_bytes + kTokenBytes * step_tokens_max + kSegmentBytes * segments_max, kMax);
}

}  // namespace engram

#endif  // ENGRAM_MODEL_REQUEST_BOUND_H_
