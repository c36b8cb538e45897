// What a segment of random traffic may be, forks apart.

#include <algorithm>
#include <utility>

#include "client/tool/traffic.h"

namespace engram {
namespace {

constexpr uint64_t kDraftTokensMax = 8;

constexpr int kInvalidArgument = 3;
constexpr int kFailedPrecondition = 9;

// Enters the last segment of the request, refused with `code`, into what is expected.
void ExpectRefusal(PlannedStep& step, int code) {
  const v1::Segment& segment = *step.request.segments().rbegin();
  ExpectedSegment expected;
  expected.session_id = segment.session_id();
  expected.start_pos = segment.start_pos();
  expected.code = code;
  expected.tokens.assign(segment.token_ids().begin(), segment.token_ids().end());
  step.tokens += expected.tokens.size();
  step.expected.segments.push_back(std::move(expected));
  step.exports.emplace_back();
}

}  // namespace

bool Traffic::AddToIdle(PlannedStep& step, uint64_t budget) {
  const auto found = AnyIdle();
  if (found == sessions_.end()) return false;
  auto& [session_id, live] = *found;
  if (options_.speculative && Chance(0.9) && AddDrafts(step, session_id, live, budget)) return true;
  const uint64_t length = live.sequence.length();
  // A rewind needs look-back that the server knows without the seed.
  const uint64_t earliest = Earliest(live);
  uint64_t start_pos = length;
  size_t tokens = ChunkTokens(budget);
  const bool full = length + tokens > session_tokens_max_;
  const bool rewinds = (full || Chance(0.27)) && earliest <= length;
  if (rewinds) start_pos = earliest + Below(length - earliest + 1);
  if (full) tokens = 0;  // pure rollback, or a segment of nothing
  if (rewinds || full || !Chance(0.12)) {
    AddContinuation(step, live, session_id, start_pos, tokens);
    return true;
  }
  // Re-based: from here on the server knows what the seed says and no more.
  start_pos = Below(length + 1);
  Sequence before = live.sequence;
  before.Truncate(start_pos);
  AddContinuation(step, live, session_id, start_pos, tokens);
  SeedLast(step, before);
  live.known_from = start_pos;
  return true;
}

// The next block of speculative decoding: it overwrites the one before from the first token that was rejected.
bool Traffic::AddDrafts(PlannedStep& step, uint64_t session_id, Live& live, uint64_t budget) {
  const uint64_t length = live.sequence.length();
  const uint64_t earliest = std::min(std::max(live.block_begin, Earliest(live)), length);
  const uint64_t start_pos = earliest + Below(length - earliest + 1);
  const uint64_t tokens = std::min(budget, 1 + Below(kDraftTokensMax));
  if (start_pos + tokens > session_tokens_max_) return false;
  AddContinuation(step, live, session_id, start_pos, static_cast<size_t>(tokens));
  live.block_begin = start_pos;
  ++counts_.draft_blocks;
  counts_.draft_tokens += live.sequence.length() - start_pos;
  counts_.rejected_tokens += length - start_pos;
  return true;
}

void Traffic::AddNew(PlannedStep& step, uint64_t session_id, uint64_t budget) {
  const uint64_t kind = Below(100);
  const uint64_t handovers = options_.servers > 1 ? 60 : 20;
  if (kind < handovers && AddHandover(step, session_id, budget)) return;
  if (kind >= handovers && kind < handovers + 15 && !options_.forks.has_value() && AddFork(step, session_id, budget)) {
    return;
  }
  Live live;
  live.sequence = source_.Begin(random_);
  if (Chance(0.4)) {
    source_.Extend(live.sequence, 1 + (Chance(0.5) ? Below(lookback_max_ + 2) : Below(200)), random_);
    live.known_from = live.sequence.length();
  }
  const Sequence before = live.sequence;
  AddContinuation(step, live, session_id, before.length(), ChunkTokens(budget));
  if (live.known_from > 0) SeedLast(step, before);
  Keep(session_id, std::move(live));
}

bool Traffic::AddHandover(PlannedStep& step, uint64_t session_id, uint64_t budget) {
  if (handovers_.empty()) return false;
  const Handover handover = handovers_.Any(random_);
  const uint64_t start_pos = handover.sequence.length();
  if (start_pos > session_tokens_max_) return false;
  if (handover.server != options_.server) ++counts_.moves;
  Live live{handover.sequence, start_pos, start_pos};
  const size_t tokens = ChunkTokens(std::min(budget, session_tokens_max_ - start_pos));
  AddContinuation(step, live, session_id, start_pos, tokens);
  if (handover.state.has_value()) {
    *step.request.mutable_segments()->rbegin()->mutable_state() = *handover.state;
  } else {
    SeedLast(step, handover.sequence);
  }
  Keep(session_id, std::move(live));
  return true;
}

void Traffic::Keep(uint64_t session_id, Live live) {
  if (session_id != 0) sessions_.insert_or_assign(session_id, std::move(live));
}

v1::Lookback Traffic::LookbackOf(const Sequence& before) {
  const uint64_t length = before.length();
  const uint64_t count = std::min<uint64_t>(length, lookback_max_ + Below(6));
  v1::Lookback lookback;
  lookback.mutable_token_ids()->Add(before.tokens.end() - static_cast<std::ptrdiff_t>(count), before.tokens.end());
  std::string mask = before.MaskOf(length - count, length);
  if (Chance(0.1) || mask.find('\0') != std::string::npos) lookback.set_token_mask(std::move(mask));
  return lookback;
}

void Traffic::SeedLast(PlannedStep& step, const Sequence& before) {
  v1::Segment& segment = *step.request.mutable_segments()->rbegin();
  if (Chance(0.5)) {
    *segment.mutable_lookback() = LookbackOf(before);
  } else {
    *segment.mutable_state() = StateAt(before.length(), lookback_max_, before.ids, constants_digest_);
  }
}

bool Traffic::AddRefused(PlannedStep& step) {
  const auto idle = AnyIdle();
  const uint64_t kind = Below(5);
  if (kind == 0 && idle == sessions_.end()) return false;
  v1::Segment& segment = *step.request.add_segments();
  segment.set_session_id(++last_session_id_);
  segment.add_token_ids(0);
  switch (kind) {
    case 0:  // a gap
      segment.set_session_id(idle->first);
      segment.set_start_pos(idle->second.sequence.length() + 1 + Below(5));
      used_.insert(idle->first);
      break;
    case 1:
      segment.set_start_pos(1 + Below(9));
      break;  // nobody knows what stands before
    case 2:
      segment.set_token_ids(0, geometry_.vocab_size + static_cast<uint32_t>(Below(3)));
      break;
    case 3:
      segment.set_token_mask(std::string(2, '\1'));
      break;
    default:  // a state of other constants
      segment.set_start_pos(1);
      *segment.mutable_state() = StateAt(1, lookback_max_, {0}, std::string(constants_digest_.size(), '\0'));
  }
  ExpectRefusal(step, kind == 2 || kind == 3 ? kInvalidArgument : kFailedPrecondition);
  return true;
}

}  // namespace engram
