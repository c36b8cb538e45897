// Keeps the place in one sequence, so that a caller appends tokens without counting positions.

#ifndef ENGRAM_CLIENT_CLIENT_SESSION_H_
#define ENGRAM_CLIENT_CLIENT_SESSION_H_

#include <cstdint>
#include <optional>
#include <variant>

#include "absl/types/span.h"
#include "engram/v1/engram.pb.h"

namespace engram {

// For a Connection; a Client's sessions are TrackedSession. Talks to nobody: it fills segments in. Not thread-safe;
// submit the steps in the order they were filled.
class ClientSession {
 public:
  // A new session at position 0. `session_id` is the caller's choice, not 0, and unique among the client's live
  // sessions.
  explicit ClientSession(uint64_t session_id) : session_id_(session_id) {}

  uint64_t session_id() const { return session_id_; }
  uint64_t position() const { return position_; }  // of the next token

  // Adds a segment of these tokens to the step and moves on. `mask` is empty (all take part) or one byte a token.
  // Returns the segment's start.
  uint64_t Append(v1::StepRequest& step, absl::Span<const uint32_t> tokens, absl::Span<const uint8_t> mask = {});

  // The next tokens go to `position`, at most position(): after rejected drafts, for instance. Nothing needs to be
  // sent.
  void RewindTo(uint64_t position);

  // The next segment opens the session at a position with what stands before it.
  void Seed(const v1::HashState& state);
  void Seed(uint64_t position, absl::Span<const uint32_t> lookback, absl::Span<const uint8_t> mask = {});

  // A segment that the server refused changed nothing there: goes back to its start, unless already before it.
  void Refused(uint64_t start_pos) { RewindTo(start_pos); }

 private:
  uint64_t session_id_;
  uint64_t position_ = 0;
  std::variant<std::monostate, v1::HashState, v1::Lookback> seed_;
};

}  // namespace engram

#endif  // ENGRAM_CLIENT_CLIENT_SESSION_H_
