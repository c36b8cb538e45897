// The rules of proto/engram/v1/engram.proto for one segment of the tiny model, looked at alone: written down once
// more, plainly.

#ifndef ENGRAM_TESTS_FUZZ_SEED_RULES_H_
#define ENGRAM_TESTS_FUZZ_SEED_RULES_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "engram/v1/engram.pb.h"
#include "server/session_store.h"
#include "tests/unit/server/session_fixture.h"

namespace engram {

inline constexpr uint32_t kTinyTokens = 40;
inline constexpr int32_t kTinyClasses = 20;

// Whether tokens and mask are allowed; their compressed ids.
inline bool JudgeTokens(const google::protobuf::RepeatedField<uint32_t>& tokens, const std::string& mask, Ids& ids) {
  for (int i = 0; i < tokens.size(); ++i) {
    const bool masked = !mask.empty() && mask.at(static_cast<size_t>(i)) == 0;
    if (!masked && tokens[i] >= kTinyTokens) return false;
    ids.push_back(masked ? -1 : static_cast<int32_t>(tokens[i]) % kTinyClasses);
  }
  return true;
}

inline absl::StatusCode JudgeState(const v1::HashState& state, uint64_t start_pos) {
  if (state.position() != start_pos) return absl::StatusCode::kInvalidArgument;
  if (state.constants_digest() != std::string(32, 'c')) return absl::StatusCode::kFailedPrecondition;
  const auto count = static_cast<uint64_t>(state.compressed_ids_size());
  if (count != std::min<uint64_t>(start_pos, kLookback)) return absl::StatusCode::kInvalidArgument;
  const auto bad = [](int32_t id) { return id < -1 || id >= kTinyClasses; };
  const auto& ids = state.compressed_ids();
  return std::any_of(ids.begin(), ids.end(), bad) ? absl::StatusCode::kInvalidArgument : absl::StatusCode::kOk;
}

// The code a segment of `client` has before any session is looked at; where that is OK, its compressed ids and what
// its seed says.
inline absl::StatusCode JudgeSegment(const v1::Segment& segment, const std::string& client, Ids& ids,
                                     SessionSeed& seed) {
  constexpr absl::StatusCode kBad = absl::StatusCode::kInvalidArgument;
  const uint64_t start_pos = segment.start_pos();
  const auto tokens = static_cast<uint64_t>(segment.token_ids_size());
  if (start_pos > std::numeric_limits<uint64_t>::max() - tokens) return kBad;
  if (!JudgeTokens(segment.token_ids(), segment.token_mask(), ids)) return kBad;
  if (segment.has_lookback()) {
    const auto held = static_cast<uint64_t>(segment.lookback().token_ids_size());
    if (held < std::min<uint64_t>(start_pos, kLookback) || held > start_pos) return kBad;
    seed.kind = SessionSeed::Kind::kIds;
    return JudgeTokens(segment.lookback().token_ids(), segment.lookback().token_mask(), seed.ids)
               ? absl::StatusCode::kOk
               : kBad;
  }
  if (segment.has_state()) {
    seed.kind = SessionSeed::Kind::kIds;
    seed.ids.assign(segment.state().compressed_ids().begin(), segment.state().compressed_ids().end());
    return JudgeState(segment.state(), start_pos);
  }
  if (segment.has_fork_from()) {
    const v1::ForkFrom& fork = segment.fork_from();
    if (fork.session_id() == 0 || fork.position() != start_pos) return kBad;
    seed.kind = SessionSeed::Kind::kFork;
    seed.fork_from = {fork.client_id().empty() ? client : fork.client_id(), fork.session_id()};
  }
  return absl::StatusCode::kOk;
}

}  // namespace engram

#endif  // ENGRAM_TESTS_FUZZ_SEED_RULES_H_
