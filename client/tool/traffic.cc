#include "client/tool/traffic.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/step_shape.h"

namespace engram {
namespace {

constexpr size_t kLiveSessionsMax = 24;
constexpr uint64_t kStepTokensMax = 1024;
constexpr uint64_t kSessionTokensMax = 4096;

uint64_t Bound(uint64_t own, uint64_t servers) { return servers == 0 ? own : std::min(own, servers); }

uint64_t StepTokensMax(const Geometry& geometry, const TrafficOptions& options) {
  const uint64_t token_bytes = uint64_t{geometry.columns()} * geometry.bf16_row_bytes() * geometry.layers();
  const uint64_t bytes = Bound(options.reply_bytes_max, options.limits.bytes_in_flight_max());
  return Bound(std::min(kStepTokensMax, std::max<uint64_t>(1, bytes / token_bytes)), options.limits.step_tokens_max());
}

}  // namespace

TrafficCounts& TrafficCounts::operator+=(const TrafficCounts& other) {
  forks += other.forks;
  foreign_forks += other.foreign_forks;
  trees += other.trees;
  draft_blocks += other.draft_blocks;
  draft_tokens += other.draft_tokens;
  rejected_tokens += other.rejected_tokens;
  moves += other.moves;
  return *this;
}

std::string Describe(const TrafficCounts& counts) {
  return absl::StrCat(counts.forks, " forks (", counts.foreign_forks, " of other clients, ", counts.trees,
                      " draft trees), ", counts.draft_blocks, " draft blocks (", counts.rejected_tokens, " of ",
                      counts.draft_tokens, " tokens rejected), ", counts.moves, " moves between servers");
}

Traffic::Traffic(const Oracle& oracle, TokenSource& source, Handovers& handovers, SessionBoard* board,
                 TrafficOptions options)
    : geometry_(oracle.geometry()),
      constants_digest_(oracle.checkpoint().constants_digest),
      source_(source),
      handovers_(handovers),
      board_(board),
      options_(std::move(options)),
      lookback_max_(geometry_.max_ngram_size - 1),
      step_tokens_max_(StepTokensMax(geometry_, options_)),
      session_tokens_max_(Bound(kSessionTokensMax, options_.limits.session_tokens_max())),
      random_(options_.seed),
      last_session_id_(options_.session_ids_from) {}

bool Traffic::Chance(double probability) {
  return static_cast<double>(random_() >> 11) < probability * static_cast<double>(uint64_t{1} << 53);
}

uint64_t Traffic::Below(uint64_t bound) { return random_() % bound; }

uint64_t Traffic::Earliest(const Live& live) const {
  return live.known_from == 0 ? 0 : live.known_from + lookback_max_;
}

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
  ChooseAnswer(step);
  const uint64_t kind = Below(100);
  uint64_t segments = kind < 2 ? 0 : kind < 55 ? 1 : kind < 88 ? 2 + Below(5) : 7 + Below(18);
  segments = Bound(segments, options_.limits.segments_max());
  while (step.expected.segments.size() < segments && step.tokens < step_tokens_max_) {
    AddSegment(step, step_tokens_max_ - step.tokens, segments - step.expected.segments.size());
  }
  CloseSome(step);
  const size_t layers = step.expected.layers.empty() ? geometry_.layers() : step.expected.layers.size();
  step.reply_bytes = step.tokens * layers * geometry_.columns() * RowBytesOf(step.expected.format, geometry_);
  return step;
}

void Traffic::ChooseAnswer(PlannedStep& step) {
  step.expected.format = options_.formats[Below(options_.formats.size())];
  step.expected.return_states = Chance(0.25);
  step.expected.omit_masked_rows = Chance(0.25);
  if (Chance(0.5)) {
    step.expected.layers = geometry_.layer_ids;
    std::shuffle(step.expected.layers.begin(), step.expected.layers.end(), random_);
    step.expected.layers.resize(1 + Below(geometry_.layers()));
  }
  step.request.set_format(step.expected.format);
  step.request.set_unique_rows(options_.unique_rows && step.expected.format != v1::ROW_FORMAT_HASH_IDS);
  step.request.set_return_states(step.expected.return_states);
  step.request.set_omit_masked_rows(step.expected.omit_masked_rows);
  step.request.mutable_layers()->Add(step.expected.layers.begin(), step.expected.layers.end());
}

void Traffic::AddSegment(PlannedStep& step, uint64_t budget, uint64_t room) {
  if (options_.fork && options_.forks.has_value() && Chance(*options_.forks)) {
    if (Chance(0.5) ? AddTree(step, budget, room) : AddFork(step, ++last_session_id_, budget)) return;
  }
  const uint64_t kind = Below(100);
  if (kind < 4 && AddRefused(step)) return;
  if (kind >= 4 && kind < 16) return AddNew(step, 0, budget);
  const uint64_t idle_from = options_.speculative ? 20 : 30;
  if (kind >= idle_from && AddToIdle(step, budget)) return;
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
  live.block_begin = sequence.length();

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
  std::string mask = sequence.MaskOf(start_pos, sequence.length());
  if (Chance(0.1) || mask.find('\0') != std::string::npos) segment.set_token_mask(std::move(mask));

  step.tokens += expected.tokens.size();
  step.expected.segments.push_back(std::move(expected));
  step.exports.push_back(step.expected.return_states ? sequence : Sequence());
  if (session_id != 0) used_.insert(session_id);
}

void Traffic::CloseSome(PlannedStep& step) {
  if (Chance(0.03)) step.request.add_close_sessions(last_session_id_ + 1000);  // unknown: ignored
  CloseUnread(step);
  while (!sessions_.empty() && (sessions_.size() > kLiveSessionsMax || Chance(0.08))) {
    const auto closed = std::next(sessions_.begin(), static_cast<std::ptrdiff_t>(Below(sessions_.size())));
    if (Shares() && Chance(0.5)) {
      Finish(step, closed);
    } else {
      step.request.add_close_sessions(closed->first);
      if (options_.servers > 1) {
        handovers_.Add({std::move(closed->second.sequence), std::nullopt, options_.server}, random_);
      }
    }
    sessions_.erase(closed);
  }
}

void Traffic::TakeAnswer(const PlannedStep& planned, const StepResult& result) {
  const bool admitted = result.status.ok() || (planned.expected.cancelled && absl::IsCancelled(result.status));
  for (const SessionBoard::Entry& session : planned.finished) {
    if (!admitted) continue;
    board_->Publish(session);
    published_.push_back(session);
  }
  WithdrawOld();
  if (!planned.expected.return_states || !admitted) return;
  for (size_t i = 0; i < planned.exports.size() && i < result.segments.size(); ++i) {
    if (planned.expected.segments[i].code != 0 || !result.segments[i].has_state()) continue;
    handovers_.Add({planned.exports[i], result.segments[i].state(), options_.server}, random_);
  }
}

std::vector<uint64_t> Traffic::OpenSessions() const {
  std::vector<uint64_t> open;
  for (const auto& [session_id, live] : sessions_) open.push_back(session_id);
  for (const SessionBoard::Entry& session : published_) open.push_back(session->session_id);
  for (const SessionBoard::Entry& session : withdrawn_) open.push_back(session->session_id);
  return open;
}

}  // namespace engram
