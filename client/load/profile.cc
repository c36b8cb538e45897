#include "client/load/profile.h"

#include <utility>

#include "model/check.h"

namespace engram {

SessionProfile::SessionProfile(const SessionProfileOptions& options, const TokenPool& pool)
    : options_(options), pool_(pool), random_(options.seed) {
  const uint64_t kept = options_.kind == StepKind::kSpeculative ? options_.tokens : 0;
  sessions_.reserve(options_.sessions);
  for (size_t i = 0; i < options_.sessions; ++i) {
    sessions_.push_back({LoadSession(options_.session_ids_from + i + 1, options_.lookback, kept), nullptr, 0});
    Begin(sessions_.back());
    free_.push_back(i);
  }
}

void SessionProfile::Begin(Live& live) {
  const uint64_t shortest = std::max<uint64_t>(options_.tokens, options_.session_tokens / 2);
  live.length_max = shortest + random_() % (options_.session_tokens - shortest + 1);
  live.draw = pool_.Begin(random_);
}

void SessionProfile::AddSegment(LoadStep& step, Live& live) {
  const uint64_t length = live.session.position();
  if (options_.kind == StepKind::kSpeculative && length > 0) {
    const uint64_t rejected = random_() % options_.tokens;
    ENGRAM_CHECK(live.session.RewindTo(length - rejected).ok());
  }
  tokens_.clear();
  for (size_t i = 0; i < options_.tokens; ++i) tokens_.push_back(live.draw->Next(random_));
  live.session.Append(step, tokens_);
  if (live.session.position() + options_.tokens <= live.length_max) return;
  live.session.Close(step);
  Begin(live);
}

std::optional<LoadStep> SessionProfile::Next() {
  if (free_.size() < options_.segments) return std::nullopt;
  LoadStep step;
  step.kind = options_.kind;
  for (size_t i = 0; i < options_.segments; ++i) {
    step.sessions.push_back(free_.front());
    free_.pop_front();
    AddSegment(step, sessions_[step.sessions.back()]);
  }
  return step;
}

void SessionProfile::Done(const LoadStep& step) {
  free_.insert(free_.end(), step.sessions.begin(), step.sessions.end());
}

}  // namespace engram
