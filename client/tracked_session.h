// A sequence whose last tokens are kept on the client, so that any server of the model can take it up at any time.

#ifndef ENGRAM_CLIENT_TRACKED_SESSION_H_
#define ENGRAM_CLIENT_TRACKED_SESSION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "client/server_view.h"
#include "engram/v1/engram.pb.h"

namespace engram {

// A segment of a TrackedSession within a step: how to open its session where the server does not know it.
struct TrackedSegment {
  int index = 0;  // of the segment in the request
  std::shared_ptr<ServerView> view;
  uint64_t edit = 0;  // see ServerView
  // A look-back of the segment's start_pos, or a state with its start_pos and the tokens from there to the segment,
  // which are then sent once more. At position 0 neither.
  v1::Segment seed;
};

// What Client::Submit takes: a request, to be filled freely, and what TrackedSession::Append noted about its segments.
struct TrackedStep {
  TrackedStep() = default;
  TrackedStep(v1::StepRequest step) : request(std::move(step)) {}  // NOLINT: a plain request is a step too

  v1::StepRequest request;
  std::vector<TrackedSegment> tracked;
};

struct TrackedSessionOptions {
  uint64_t tokens_kept = 4096;  // before the last segment: so far back RewindTo and Fork reach
  uint32_t lookback = 3;        // tokens of look-back a server needs: the model's max_ngram_size - 1, or more
};

// Talks to nobody: it fills segments in, and Client adds seeds where its server needs them. Submit the steps in the
// order they were filled, all to one client. A segment whose step failed or was cancelled still counts as written: its
// tokens stay part of the sequence unless RewindTo says otherwise. At most 10 bytes a token kept, look-back included.
// Movable; not thread-safe.
class TrackedSession {
 public:
  // A new session at position 0. `session_id` is the caller's choice, not 0, and unique among the client's live
  // sessions.
  explicit TrackedSession(uint64_t session_id, TrackedSessionOptions options = {});

  uint64_t session_id() const { return session_id_; }
  uint64_t position() const { return begin_ + tokens_.size(); }  // of the next token
  // The first position that RewindTo and Fork accept; from there on any server of the model can go on.
  uint64_t reach() const;

  // Adds a segment of these tokens to the step and moves on. `mask` is empty (all take part) or one byte a token.
  // Returns the segment's start. No tokens: a pure rollback on the server. Once a step.
  uint64_t Append(TrackedStep& step, absl::Span<const uint32_t> tokens, absl::Span<const uint8_t> mask = {});

  // The next tokens go to `position`: after rejected drafts, or to the start of a segment that was refused. A position
  // at or behind position() changes nothing. FAILED_PRECONDITION below reach(): call Seed then.
  absl::Status RewindTo(uint64_t position);

  // Goes on at a position of which the caller knows what stands before it. The state is what another server exported.
  // Until `lookback` more tokens are appended only that state can bring the session back, so that a segment in between
  // is sent with the tokens before it that follow the state; their rows are left out of the result.
  void Seed(const v1::HashState& state);
  // INVALID_ARGUMENT: fewer tokens than min(position, lookback) or more than `position`, or a mask of another length.
  absl::Status Seed(uint64_t position, absl::Span<const uint32_t> tokens, absl::Span<const uint8_t> mask = {});

  // A session with this one's history before `position`, made on the client: no server need know either of them.
  // INVALID_ARGUMENT behind position(), FAILED_PRECONDITION below reach().
  absl::StatusOr<TrackedSession> Fork(uint64_t session_id, uint64_t position) const;

  // The server forgets the session with this step; here it starts anew at position 0.
  void Close(TrackedStep& step);

 private:
  absl::Status CheckReach(uint64_t position) const;
  v1::Segment SeedHere() const;  // of a segment that starts at position()
  // Everything before `position` becomes unknown but for the tokens [begin, position).
  void Restart(uint64_t begin, absl::Span<const uint32_t> tokens, std::string mask);
  void Trim();

  uint64_t session_id_;
  TrackedSessionOptions options_;
  std::shared_ptr<ServerView> view_ = std::make_shared<ServerView>();
  uint64_t kept_;  // tokens_kept and their look-back
  uint64_t edit_ = 0;
  uint64_t begin_ = 0;                  // position of tokens_[0]
  std::vector<uint32_t> tokens_;        // the history from begin_ on
  std::string mask_;                    // [tokens_], 0 or 1
  std::optional<v1::HashState> state_;  // of position begin_
};

}  // namespace engram

#endif  // ENGRAM_CLIENT_TRACKED_SESSION_H_
