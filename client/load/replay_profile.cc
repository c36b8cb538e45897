#include "client/load/replay_profile.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "model/check.h"
#include "model/files/errors.h"

namespace engram {
namespace {

absl::Status CheckBelow(const std::vector<uint32_t>& tokens, const char* key, uint32_t vocab_size) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] < vocab_size) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(key, "[", i, "] is ", tokens[i], "; it must be below vocab_size ", vocab_size));
  }
  return absl::OkStatus();
}

absl::Status CheckStep(const ReplayStep& step, uint32_t vocab_size, ReplaySessions& sessions) {
  for (const LoadSegment& segment : step.segments) {
    ENGRAM_RETURN_IF_ERROR(CheckBelow(segment.tokens, "tokens", vocab_size));
    ENGRAM_RETURN_IF_ERROR(CheckBelow(segment.lookback, "lookback", vocab_size));
  }
  return sessions.Make(step).status();
}

}  // namespace

LoadSession& ReplaySessions::Find(uint64_t session_id) {
  return sessions_.try_emplace(session_id, session_id, lookback_, kReplayRewindMax).first->second;
}

absl::StatusOr<LoadStep> ReplaySessions::Make(const ReplayStep& recorded) {
  LoadStep step;
  step.kind = recorded.kind;
  for (size_t i = 0; i < recorded.segments.size(); ++i) {
    const LoadSegment& segment = recorded.segments[i];
    LoadSession& session = Find(segment.session_id);
    ENGRAM_RETURN_IF_ERROR(recorded.seeds[i] ? session.Seed(segment.start_pos, segment.lookback)
                                             : session.RewindTo(segment.start_pos));
    session.Append(step, segment.tokens);
  }
  for (const uint64_t session_id : recorded.closed) {
    Find(session_id).Close(step);
    sessions_.erase(session_id);
  }
  return step;
}

absl::Status CheckReplay(const std::vector<ReplayStep>& steps, const Geometry& geometry, const std::string& path) {
  std::map<size_t, ReplaySessions> streams;
  for (const ReplayStep& step : steps) {
    ReplaySessions& sessions = streams.try_emplace(step.stream, geometry.max_ngram_size - 1).first->second;
    const absl::Status status = CheckStep(step, static_cast<uint32_t>(geometry.vocab_size), sessions);
    if (!status.ok()) return absl::InvalidArgumentError(absl::StrCat(path, ":", step.line, ": ", status.message()));
  }
  return absl::OkStatus();
}

ReplayProfile::ReplayProfile(const std::vector<ReplayStep>& steps, size_t stream, uint32_t lookback)
    : sessions_(lookback) {
  for (const ReplayStep& step : steps) {
    if (step.stream == stream) steps_.push_back(&step);
  }
}

std::optional<LoadStep> ReplayProfile::Next() {
  if (ended()) return std::nullopt;
  absl::StatusOr<LoadStep> step = sessions_.Make(*steps_[next_++]);
  ENGRAM_CHECK(step.ok());
  return *std::move(step);
}

Arrivals RecordedArrivals(const std::vector<ReplayStep>& steps, size_t stream) {
  return [&steps, stream, next = size_t{0}]() mutable -> std::optional<absl::Duration> {
    while (next < steps.size() && steps[next].stream != stream) ++next;
    return next < steps.size() ? std::optional(steps[next++].at) : std::nullopt;
  };
}

}  // namespace engram
