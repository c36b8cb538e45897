// A step of load: what is sent, and enough of it kept to check the answer.

#ifndef ENGRAM_CLIENT_LOAD_LOAD_STEP_H_
#define ENGRAM_CLIENT_LOAD_LOAD_STEP_H_

#include <array>
#include <cstdint>
#include <vector>

#include "client/tracked_session.h"

namespace engram {

enum class StepKind { kDecode, kPrefill, kSpeculative };
inline constexpr size_t kStepKinds = 3;
inline constexpr std::array<const char*, kStepKinds> kStepKindNames = {"decode", "prefill", "speculative"};

inline const char* NameOf(StepKind kind) { return kStepKindNames[static_cast<size_t>(kind)]; }

struct LoadSegment {
  uint64_t session_id = 0;
  uint64_t start_pos = 0;
  std::vector<uint32_t> lookback;  // min(start_pos, G-1) tokens that stand before start_pos, oldest first
  std::vector<uint32_t> tokens;
};

struct LoadStep {
  StepKind kind = StepKind::kDecode;
  TrackedStep step;                   // all but format and layers; handed to the client
  std::vector<LoadSegment> segments;  // what is in it
  std::vector<size_t> sessions;       // by their number in the profile; busy until the step is done
  uint64_t tokens = 0;                // of all segments
};

}  // namespace engram

#endif  // ENGRAM_CLIENT_LOAD_LOAD_STEP_H_
