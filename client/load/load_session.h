// One sequence of load: a TrackedSession, and the tokens that stand before its next position.

#ifndef ENGRAM_CLIENT_LOAD_LOAD_SESSION_H_
#define ENGRAM_CLIENT_LOAD_LOAD_SESSION_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "client/load/load_step.h"
#include "client/tracked_session.h"

namespace engram {

// Not thread-safe. Segments of one session may be under way at the same time, in the order they were appended.
class LoadSession {
 public:
  // `lookback`: G-1. `tokens_kept`: so far back RewindTo reaches, from the start of the last segment.
  LoadSession(uint64_t session_id, uint32_t lookback, uint64_t tokens_kept);

  uint64_t position() const { return tracked_.position(); }

  // Adds a segment of these tokens to the step and moves on.
  void Append(LoadStep& step, absl::Span<const uint32_t> tokens);
  // The next tokens overwrite what stands from `position` on. FAILED_PRECONDITION below what is kept;
  // INVALID_ARGUMENT behind position().
  absl::Status RewindTo(uint64_t position);
  // Goes on at `position`, before which these tokens stand. INVALID_ARGUMENT: fewer than min(position, G-1) of them, or
  // more than `position`.
  absl::Status Seed(uint64_t position, absl::Span<const uint32_t> tokens);
  // The server forgets the session once the step is served; it begins anew at position 0.
  void Close(LoadStep& step);

 private:
  void Trim();

  uint32_t lookback_;
  uint64_t tokens_kept_;
  TrackedSession tracked_;
  std::vector<uint32_t> tail_;  // the tokens just before position()
};

}  // namespace engram

#endif  // ENGRAM_CLIENT_LOAD_LOAD_SESSION_H_
