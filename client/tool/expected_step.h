// What one submitted step must bring back.

#ifndef ENGRAM_CLIENT_TOOL_EXPECTED_STEP_H_
#define ENGRAM_CLIENT_TOOL_EXPECTED_STEP_H_

#include <cstdint>
#include <vector>

#include "engram/v1/engram.pb.h"

namespace engram {

struct ExpectedSegment {
  uint64_t session_id = 0;
  uint64_t start_pos = 0;
  int code = 0;                  // of the refusal; 0: accepted
  size_t lookback = 0;           // min(start_pos, G-1)
  std::vector<int32_t> window;   // compressed ids, kDead = masked: `lookback` of them, then the segment's
  std::vector<uint32_t> tokens;  // as sent

  uint64_t length() const { return start_pos + tokens.size(); }  // the session's, afterwards
};

struct ExpectedStep {
  v1::RowFormat format = v1::ROW_FORMAT_PACKED;
  std::vector<uint32_t> layers;  // decoder layer ids; none: all
  bool return_states = false;
  bool omit_masked_rows = false;
  bool cancelled = false;  // the server was asked to give it up: CANCELLED is as right as the whole answer
  std::vector<ExpectedSegment> segments;
};

// The state a segment must export, or that seeds a session there: `window` ends at the position.
inline v1::HashState StateAt(uint64_t position, size_t lookback_max, const std::vector<int32_t>& window,
                             const std::string& constants_digest) {
  v1::HashState state;
  state.set_position(position);
  const size_t count = position < lookback_max ? static_cast<size_t>(position) : lookback_max;
  for (size_t i = window.size() - count; i < window.size(); ++i) state.add_compressed_ids(window[i]);
  state.set_constants_digest(constants_digest);
  return state;
}

}  // namespace engram

#endif  // ENGRAM_CLIENT_TOOL_EXPECTED_STEP_H_
