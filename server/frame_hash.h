// The row ids of one frame.

#ifndef ENGRAM_SERVER_FRAME_HASH_H_
#define ENGRAM_SERVER_FRAME_HASH_H_

#include "absl/types/span.h"
#include "model/ngram_hash.h"
#include "server/frame_plan.h"
#include "server/step.h"

namespace engram {

// Fills `ids` [frame.rows, K] with the row ids of the frame's tokens, each hashed with the look-back of its own
// segment; masked tokens are left out under omit_masked_rows.
void HashFrame(const NgramHasher& hasher, const Step& step, const Frame& frame, absl::Span<uint64_t> ids);

}  // namespace engram

#endif  // ENGRAM_SERVER_FRAME_HASH_H_
