// What the answer to a step takes in memory besides its rows: upper bounds, for limits.

#ifndef ENGRAM_SERVER_ANSWER_BYTES_H_
#define ENGRAM_SERVER_ANSWER_BYTES_H_

#include <algorithm>
#include <cstdint>

#include "server/step.h"

namespace engram {

// Each with what the allocator adds. Of a segment: its result twice (in the step, and in the frame that is on its way),
// its StepSegment with the look-back, its SessionUse.
inline constexpr uint64_t kSegmentAnswerBytes = 448;
inline constexpr uint64_t kStateAnswerBytes = 320;
// Of a step, besides its segments: itself, its plan, its frames.
inline constexpr uint64_t kStepAnswerBytes = 1024;
// Of the answer to a refused step, besides its message.
inline constexpr uint64_t kRefusalBytes = 512;
// No result's message is longer: two digests in hexadecimal, and words.
inline constexpr uint64_t kResultMessageBytesMax = 512;

// Of an admitted step, from then on until its last frame has left. The ids of its tokens are not counted: whoever
// bounds tokens bounds them.
inline uint64_t AnswerBytes(const Step& step) {
  uint64_t bytes = kStepAnswerBytes;
  for (const v1::SegmentResult& result : step.results) {
    bytes += kSegmentAnswerBytes + result.message().size() + (result.has_state() ? kStateAnswerBytes : 0);
  }
  return bytes;
}

// At most: steps of `segments_max` segments are admitted one more than fits into `unsent_bytes_max`.
inline uint64_t AnswerBytesMax(uint64_t unsent_bytes_max, uint64_t segments_max) {
  const uint64_t segment = kSegmentAnswerBytes + std::max(kResultMessageBytesMax, kStateAnswerBytes);
  return unsent_bytes_max + kStepAnswerBytes + segments_max * segment;
}

}  // namespace engram

#endif  // ENGRAM_SERVER_ANSWER_BYTES_H_
