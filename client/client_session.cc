#include "client/client_session.h"

#include <algorithm>
#include <string>
#include <utility>

namespace engram {
namespace {

std::string BytesOf(absl::Span<const uint8_t> mask) { return std::string(mask.begin(), mask.end()); }

}  // namespace

uint64_t ClientSession::Append(v1::StepRequest& step, absl::Span<const uint32_t> tokens,
                               absl::Span<const uint8_t> mask) {
  v1::Segment& segment = *step.add_segments();
  segment.set_session_id(session_id_);
  segment.set_start_pos(position_);
  segment.mutable_token_ids()->Add(tokens.begin(), tokens.end());
  segment.set_token_mask(BytesOf(mask));
  if (auto* state = std::get_if<v1::HashState>(&seed_)) *segment.mutable_state() = std::move(*state);
  if (auto* lookback = std::get_if<v1::Lookback>(&seed_)) *segment.mutable_lookback() = std::move(*lookback);
  seed_ = std::monostate();
  position_ += tokens.size();
  return segment.start_pos();
}

void ClientSession::RewindTo(uint64_t position) { position_ = std::min(position_, position); }

void ClientSession::Seed(const v1::HashState& state) {
  position_ = state.position();
  seed_ = state;
}

void ClientSession::Seed(uint64_t position, absl::Span<const uint32_t> lookback, absl::Span<const uint8_t> mask) {
  v1::Lookback seed;
  seed.mutable_token_ids()->Add(lookback.begin(), lookback.end());
  seed.set_token_mask(BytesOf(mask));
  position_ = position;
  seed_ = std::move(seed);
}

}  // namespace engram
