#include "client/load/load_session.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/files/errors.h"

namespace engram {

LoadSession::LoadSession(uint64_t session_id, uint32_t lookback, uint64_t tokens_kept)
    : lookback_(lookback),
      tokens_kept_(tokens_kept + lookback),
      tracked_(session_id, {.tokens_kept = tokens_kept, .lookback = lookback}) {}

void LoadSession::Append(LoadStep& step, absl::Span<const uint32_t> tokens) {
  Trim();
  LoadSegment segment;
  segment.session_id = tracked_.session_id();
  segment.start_pos = tracked_.Append(step.step, tokens);
  const auto lookback = static_cast<std::ptrdiff_t>(std::min<uint64_t>(segment.start_pos, lookback_));
  segment.lookback.assign(tail_.end() - lookback, tail_.end());
  segment.tokens.assign(tokens.begin(), tokens.end());
  tail_.insert(tail_.end(), tokens.begin(), tokens.end());
  step.tokens += tokens.size();
  step.segments.push_back(std::move(segment));
}

absl::Status LoadSession::RewindTo(uint64_t position) {
  const uint64_t end = this->position();
  if (position > end) {
    return absl::InvalidArgumentError(
        absl::StrCat("session ", tracked_.session_id(), ": position ", position, " is behind its length ", end));
  }
  ENGRAM_RETURN_IF_ERROR(tracked_.RewindTo(position));
  tail_.resize(tail_.size() - (end - position));
  return absl::OkStatus();
}

absl::Status LoadSession::Seed(uint64_t position, absl::Span<const uint32_t> tokens) {
  ENGRAM_RETURN_IF_ERROR(tracked_.Seed(position, tokens));
  tail_.assign(tokens.begin(), tokens.end());
  return absl::OkStatus();
}

void LoadSession::Close(LoadStep& step) {
  tracked_.Close(step.step);
  tail_.clear();
}

// Keeps at least what the TrackedSession keeps, so that whatever it lets through is here too.
void LoadSession::Trim() {
  if (tail_.size() <= 4 * tokens_kept_) return;
  tail_.erase(tail_.begin(), tail_.end() - static_cast<std::ptrdiff_t>(2 * tokens_kept_));
}

}  // namespace engram
