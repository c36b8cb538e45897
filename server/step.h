// A step after admission: everything the engine needs to answer it, taken out of the request and the sessions.

#ifndef ENGRAM_SERVER_STEP_H_
#define ENGRAM_SERVER_STEP_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "engram/v1/engram.pb.h"
#include "server/session_store.h"

namespace engram {

// A segment that was accepted and has tokens.
struct StepSegment {
  uint64_t token_begin = 0;     // counted over all tokens of the request
  std::vector<int32_t> window;  // compressed ids, kDead = masked: `lookback` ids, then the segment's tokens
  uint32_t lookback = 0;        // min(start_pos, G-1)

  uint64_t tokens() const { return window.size() - lookback; }
  uint64_t token_end() const { return token_begin + tokens(); }
};

struct Step {
  uint64_t step_id = 0;
  v1::RowFormat format = v1::ROW_FORMAT_PACKED;
  bool omit_masked_rows = false;
  bool placed = false;                     // its rows go into shared memory: its frames carry none
  bool unique_rows = false;                // repeated rows of a frame go out once, where that is less
  std::vector<size_t> layer_indices;       // into Geometry.layer_ids, ascending by decoder layer id
  std::vector<StepSegment> segments;       // ascending token_begin
  std::vector<v1::SegmentResult> results;  // one a segment of the request, refused ones included
  absl::Time deadline = absl::InfiniteFuture();
  uint64_t tokens = 0;       // of all accepted segments
  uint64_t reply_bytes = 0;  // rows (or hash ids) owed, all layers
  // ABORTED where close_sessions named one with steps in flight on another stream: the rows are served all the same,
  // and a last frame that would say OK says this.
  absl::Status close_status;
  std::vector<SessionUse> sessions;  // counts the step in flight on the sessions it wrote, until destroyed
};

}  // namespace engram

#endif  // ENGRAM_SERVER_STEP_H_
