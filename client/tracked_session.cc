#include "client/tracked_session.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace engram {
namespace {

constexpr uint64_t kTokensKeptMax = uint64_t{1} << 62;  // more is no bound either, and its double still is a number

}  // namespace

TrackedSession::TrackedSession(uint64_t session_id, TrackedSessionOptions options)
    : session_id_(session_id),
      options_(options),
      kept_(std::min(options.tokens_kept, kTokensKeptMax) + options.lookback) {}

uint64_t TrackedSession::reach() const {
  return begin_ == 0 || state_.has_value() ? begin_ : begin_ + options_.lookback;
}

absl::Status TrackedSession::CheckReach(uint64_t position) const {
  if (position >= reach()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("session ", session_id_, ": position ", position, " is before ", reach(),
                   ", as far back as the history kept (", begin_, "..", this->position(),
                   ") reaches with its look-back: call Seed(), or raise tokens_kept ", options_.tokens_kept));
}

uint64_t TrackedSession::Append(TrackedStep& step, absl::Span<const uint32_t> tokens, absl::Span<const uint8_t> mask) {
  Trim();  // before, so that a refused segment can be taken back whatever its length
  const uint64_t start = position();
  const int index = step.request.segments_size();
  v1::Segment& segment = *step.request.add_segments();
  segment.set_session_id(session_id_);
  segment.set_start_pos(start);
  segment.mutable_token_ids()->Add(tokens.begin(), tokens.end());
  segment.set_token_mask(std::string(mask.begin(), mask.end()));
  step.tracked.push_back({index, view_, ++edit_, SeedHere()});
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  mask_ += segment.token_mask();
  mask_.resize(tokens_.size(), 1);  // a mask of the wrong length is refused by the server
  return start;
}

absl::Status TrackedSession::RewindTo(uint64_t position) {
  if (position >= this->position()) return absl::OkStatus();
  if (absl::Status status = CheckReach(position); !status.ok()) return status;
  tokens_.resize(position - begin_);
  mask_.resize(tokens_.size());
  return absl::OkStatus();
}

void TrackedSession::Seed(const v1::HashState& state) {
  Restart(state.position(), {}, "");
  state_ = state;
}

absl::Status TrackedSession::Seed(uint64_t position, absl::Span<const uint32_t> tokens,
                                  absl::Span<const uint8_t> mask) {
  const uint64_t least = std::min<uint64_t>(position, options_.lookback);
  if (tokens.size() < least || tokens.size() > position) {
    return absl::InvalidArgumentError(absl::StrCat("session ", session_id_, ": a seed of ", tokens.size(),
                                                   " tokens: must be at least ", least, " and at most ", position,
                                                   " (position)"));
  }
  if (!mask.empty() && mask.size() != tokens.size()) {
    return absl::InvalidArgumentError(absl::StrCat("session ", session_id_, ": a mask of ", mask.size(), " bytes for ",
                                                   tokens.size(), " tokens: must be empty or one byte a token"));
  }
  Restart(position - tokens.size(), tokens, std::string(mask.begin(), mask.end()));
  return absl::OkStatus();
}

absl::StatusOr<TrackedSession> TrackedSession::Fork(uint64_t session_id, uint64_t position) const {
  if (position > this->position()) {
    return absl::InvalidArgumentError(absl::StrCat("session ", session_id_, ": fork at position ", position,
                                                   ": must be at most ", this->position(), ", the session's length"));
  }
  if (absl::Status status = CheckReach(position); !status.ok()) return status;
  TrackedSession fork(session_id, options_);
  fork.Restart(begin_, absl::MakeConstSpan(tokens_).first(position - begin_), mask_.substr(0, position - begin_));
  fork.state_ = state_;
  return fork;
}

void TrackedSession::Close(TrackedStep& step) {
  step.request.add_close_sessions(session_id_);
  Restart(0, {}, "");
}

v1::Segment TrackedSession::SeedHere() const {
  v1::Segment seed;
  if (state_.has_value() && begin_ > 0 && tokens_.size() < options_.lookback) {
    seed.set_start_pos(begin_);
    *seed.mutable_state() = *state_;
    seed.mutable_token_ids()->Add(tokens_.begin(), tokens_.end());
    seed.set_token_mask(mask_);
    return seed;
  }
  const auto lookback = std::min<size_t>(tokens_.size(), options_.lookback);
  seed.mutable_lookback()->mutable_token_ids()->Add(tokens_.end() - static_cast<std::ptrdiff_t>(lookback),
                                                    tokens_.end());
  seed.mutable_lookback()->set_token_mask(mask_.substr(mask_.size() - lookback));
  return seed;
}

void TrackedSession::Restart(uint64_t begin, absl::Span<const uint32_t> tokens, std::string mask) {
  ++edit_;  // of which no server knows
  begin_ = begin;
  tokens_.assign(tokens.begin(), tokens.end());
  mask_ = std::move(mask);
  mask_.resize(tokens_.size(), 1);
  state_.reset();
}

void TrackedSession::Trim() {
  if (tokens_.size() <= 2 * kept_) return;  // seldom, as it moves what is kept
  const uint64_t surplus = tokens_.size() - kept_;
  tokens_.erase(tokens_.begin(), tokens_.begin() + static_cast<std::ptrdiff_t>(surplus));
  mask_.erase(0, surplus);
  begin_ += surplus;
  state_.reset();
}

}  // namespace engram
