#include "client/tool/traffic.h"

#include <algorithm>
#include <utility>

namespace engram {
namespace {

constexpr size_t kLiveSessionsMax = 24;
constexpr size_t kExportedMax = 16;
constexpr uint64_t kStepTokensMax = 1024;
constexpr uint64_t kSessionTokensMax = 4096;
constexpr uint64_t kReplyBytesMax = uint64_t{32} << 20;  // of one step

constexpr int kInvalidArgument = 3;
constexpr int kFailedPrecondition = 9;

uint64_t Bound(uint64_t own, uint64_t servers) { return servers == 0 ? own : std::min(own, servers); }

uint64_t StepTokensMax(const Geometry& geometry, const v1::Limits& limits) {
  const uint64_t token_bytes = uint64_t{geometry.columns()} * geometry.bf16_row_bytes() * geometry.layers();
  const uint64_t bytes = Bound(kReplyBytesMax, limits.bytes_in_flight_max());
  return Bound(std::min(kStepTokensMax, std::max<uint64_t>(1, bytes / token_bytes)), limits.step_tokens_max());
}

bool IsMasked(int32_t id) { return id == kDead; }

// The mask bytes of ids [begin, end).
std::string MaskOf(const std::vector<int32_t>& ids, uint64_t begin, uint64_t end) {
  std::string mask;
  for (uint64_t i = begin; i < end; ++i) mask.push_back(IsMasked(ids[i]) ? '\0' : '\1');
  return mask;
}

uint64_t RowBytes(const Geometry& geometry, v1::RowFormat format) {
  if (format == v1::ROW_FORMAT_HASH_IDS) return sizeof(uint64_t);
  return format == v1::ROW_FORMAT_BF16 ? geometry.bf16_row_bytes() : geometry.packed_row_bytes();
}

// Enters the last segment of the request, refused with `code`, into what is expected.
void ExpectRefusal(PlannedStep& step, int code) {
  const v1::Segment& segment = *step.request.segments().rbegin();
  ExpectedSegment expected;
  expected.session_id = segment.session_id();
  expected.start_pos = segment.start_pos();
  expected.code = code;
  expected.tokens.assign(segment.token_ids().begin(), segment.token_ids().end());
  step.expected.segments.push_back(std::move(expected));
  step.exports.emplace_back();
}

}  // namespace

Traffic::Traffic(const Geometry& geometry, const HashConstants& constants, const std::string& constants_digest,
                 TokenSource& source, TrafficOptions options)
    : geometry_(geometry),
      constants_(constants),
      constants_digest_(constants_digest),
      source_(source),
      options_(std::move(options)),
      lookback_max_(geometry.max_ngram_size - 1),
      step_tokens_max_(StepTokensMax(geometry, options_.limits)),
      session_tokens_max_(Bound(kSessionTokensMax, options_.limits.session_tokens_max())),
      random_(options_.seed) {}

bool Traffic::Chance(double probability) {
  return static_cast<double>(random_() >> 11) < probability * static_cast<double>(uint64_t{1} << 53);
}

uint64_t Traffic::Below(uint64_t bound) { return random_() % bound; }

size_t Traffic::ChunkTokens(uint64_t budget) {
  const uint64_t kind = Below(100);
  uint64_t tokens = 1;
  if (kind < 8) tokens = 0;
  if (kind >= 50) tokens = 2 + Below(7);
  if (kind >= 75) tokens = 9 + Below(56);
  if (kind >= 92) tokens = 65 + Below(192);
  return static_cast<size_t>(std::min(tokens, budget));
}

PlannedStep Traffic::Next() {
  used_.clear();
  PlannedStep step;
  const v1::RowFormat format = options_.formats[Below(options_.formats.size())];
  step.expected.format = format;
  step.expected.return_states = Chance(0.25);
  step.expected.omit_masked_rows = Chance(0.25);
  if (Chance(0.5)) {
    step.expected.layers = geometry_.layer_ids;
    std::shuffle(step.expected.layers.begin(), step.expected.layers.end(), random_);
    step.expected.layers.resize(1 + Below(geometry_.layers()));
  }
  step.request.set_format(format);
  step.request.set_return_states(step.expected.return_states);
  step.request.set_omit_masked_rows(step.expected.omit_masked_rows);
  step.request.mutable_layers()->Add(step.expected.layers.begin(), step.expected.layers.end());

  const uint64_t kind = Below(100);
  uint64_t segments = kind < 2 ? 0 : kind < 55 ? 1 : kind < 88 ? 2 + Below(5) : 7 + Below(18);
  segments = Bound(segments, options_.limits.segments_max());
  uint64_t tokens = 0;
  for (uint64_t i = 0; i < segments && tokens < step_tokens_max_; ++i) {
    AddSegment(step, step_tokens_max_ - tokens);
    tokens += step.expected.segments.back().tokens.size();
  }
  CloseSome(step);
  const size_t layers = step.expected.layers.empty() ? geometry_.layers() : step.expected.layers.size();
  step.reply_bytes = tokens * layers * geometry_.columns() * RowBytes(geometry_, format);
  return step;
}

void Traffic::AddSegment(PlannedStep& step, uint64_t budget) {
  const uint64_t kind = Below(100);
  if (kind < 4 && AddRefused(step)) return;
  if (kind >= 4 && kind < 16) return AddNew(step, 0, budget);
  if (kind >= 30 && AddToIdle(step, budget)) return;
  AddNew(step, ++last_session_id_, budget);
}

Traffic::Sessions::iterator Traffic::AnyIdle() {
  std::vector<Sessions::iterator> idle;
  for (auto it = sessions_.begin(); it != sessions_.end(); ++it) {
    if (used_.count(it->first) == 0) idle.push_back(it);
  }
  return idle.empty() ? sessions_.end() : idle[Below(idle.size())];
}

void Traffic::AddContinuation(PlannedStep& step, Live& live, uint64_t session_id, uint64_t start_pos, size_t tokens) {
  Sequence& sequence = live.sequence;
  sequence.Truncate(start_pos);
  source_.Extend(sequence, tokens, random_);

  ExpectedSegment expected;
  expected.session_id = session_id;
  expected.start_pos = start_pos;
  expected.lookback = static_cast<size_t>(std::min<uint64_t>(start_pos, lookback_max_));
  expected.window.assign(sequence.ids.begin() + static_cast<std::ptrdiff_t>(start_pos - expected.lookback),
                         sequence.ids.end());
  expected.tokens.assign(sequence.tokens.begin() + static_cast<std::ptrdiff_t>(start_pos), sequence.tokens.end());

  v1::Segment& segment = *step.request.add_segments();
  segment.set_session_id(session_id);
  segment.set_start_pos(start_pos);
  segment.mutable_token_ids()->Add(expected.tokens.begin(), expected.tokens.end());
  std::string mask = MaskOf(sequence.ids, start_pos, sequence.length());
  if (Chance(0.1) || mask.find('\0') != std::string::npos) segment.set_token_mask(std::move(mask));

  step.expected.segments.push_back(std::move(expected));
  step.exports.push_back(step.expected.return_states ? sequence : Sequence());
  used_.insert(session_id);
}

bool Traffic::AddToIdle(PlannedStep& step, uint64_t budget) {
  const auto found = AnyIdle();
  if (found == sessions_.end()) return false;
  auto& [session_id, live] = *found;
  const uint64_t length = live.sequence.length();
  // A rewind needs look-back that the server knows without the seed.
  const uint64_t earliest = live.known_from == 0 ? 0 : live.known_from + lookback_max_;
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

void Traffic::AddNew(PlannedStep& step, uint64_t session_id, uint64_t budget) {
  const uint64_t kind = Below(100);
  if (kind < 20 && AddHandover(step, session_id, budget)) return;
  if (kind >= 20 && kind < 35 && AddFork(step, session_id, budget)) return;
  Live live;
  live.sequence = source_.Begin(random_);
  if (kind < 60) {
    source_.Extend(live.sequence, 1 + (Chance(0.5) ? Below(lookback_max_ + 2) : Below(200)), random_);
    live.known_from = live.sequence.length();
  }
  const Sequence before = live.sequence;
  AddContinuation(step, live, session_id, before.length(), ChunkTokens(budget));
  if (live.known_from > 0) SeedLast(step, before);
  Keep(session_id, std::move(live));
}

bool Traffic::AddHandover(PlannedStep& step, uint64_t session_id, uint64_t budget) {
  if (exported_.empty()) return false;
  const auto& [sequence, state] = exported_[Below(exported_.size())];
  Live live{sequence, sequence.length()};
  const v1::HashState seed = state;
  AddContinuation(step, live, session_id, sequence.length(), ChunkTokens(budget));
  *step.request.mutable_segments()->rbegin()->mutable_state() = seed;
  Keep(session_id, std::move(live));
  return true;
}

bool Traffic::AddFork(PlannedStep& step, uint64_t session_id, uint64_t budget) {
  const auto from = options_.fork ? AnyIdle() : sessions_.end();
  if (from == sessions_.end()) return false;
  Live live = from->second;
  const uint64_t length = live.sequence.length();
  const uint64_t earliest = live.known_from == 0 ? 0 : live.known_from + lookback_max_;
  if (earliest > length) return false;
  const uint64_t start_pos = earliest + Below(length - earliest + 1);
  AddContinuation(step, live, session_id, start_pos, ChunkTokens(budget));
  v1::ForkFrom& fork = *step.request.mutable_segments()->rbegin()->mutable_fork_from();
  fork.set_session_id(from->first);
  fork.set_position(start_pos);
  used_.insert(from->first);  // written later in this step it would be another source
  Keep(session_id, std::move(live));
  return true;
}

void Traffic::Keep(uint64_t session_id, Live live) {
  if (session_id == 0) {
    used_.erase(0);
    return;
  }
  sessions_.insert_or_assign(session_id, std::move(live));
}

v1::Lookback Traffic::LookbackOf(const Sequence& before) {
  const uint64_t length = before.length();
  const uint64_t count = std::min<uint64_t>(length, lookback_max_ + Below(6));
  v1::Lookback lookback;
  lookback.mutable_token_ids()->Add(before.tokens.end() - static_cast<std::ptrdiff_t>(count), before.tokens.end());
  std::string mask = MaskOf(before.ids, length - count, length);
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

void Traffic::CloseSome(PlannedStep& step) {
  if (Chance(0.03)) step.request.add_close_sessions(last_session_id_ + 1000);  // unknown: ignored
  while (!sessions_.empty() && (sessions_.size() > kLiveSessionsMax || Chance(0.08))) {
    const auto closed = std::next(sessions_.begin(), static_cast<std::ptrdiff_t>(Below(sessions_.size())));
    step.request.add_close_sessions(closed->first);
    sessions_.erase(closed);
  }
}

void Traffic::TakeStates(const PlannedStep& planned, const StepResult& result) {
  if (!planned.expected.return_states || !result.status.ok()) return;
  for (size_t i = 0; i < planned.exports.size() && i < result.segments.size(); ++i) {
    if (planned.expected.segments[i].code != 0 || !result.segments[i].has_state()) continue;
    auto taken = std::make_pair(planned.exports[i], result.segments[i].state());
    if (exported_.size() < kExportedMax) {
      exported_.push_back(std::move(taken));
    } else {
      exported_[Below(kExportedMax)] = std::move(taken);
    }
  }
}

}  // namespace engram
