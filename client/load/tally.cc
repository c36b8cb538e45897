#include "client/load/tally.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace engram {
namespace {

void MergeErrors(const ErrorCounts& from, ErrorCounts& to) {
  for (const auto& [code, count] : from) to[code] += count;
}

}  // namespace

void KindTally::Add(const StepOutcome& outcome) {
  switch (outcome.end) {
    case StepOutcome::End::kCancelled:
      ++cancelled;
      return;
    case StepOutcome::End::kInterrupted:
      ++interrupted;
      return;
    case StepOutcome::End::kAnswered:
      ++(outcome.ok() ? ok : failed);
  }
  tokens += outcome.tokens;
  rows += outcome.rows;
  bytes += outcome.bytes;
  shared += outcome.shared ? 1 : 0;
  if (outcome.ok() && outcome.timed) latency.Add(absl::FromChrono(outcome.finished - outcome.intended));
}

void KindTally::Merge(const KindTally& other) {
  ok += other.ok;
  failed += other.failed;
  cancelled += other.cancelled;
  interrupted += other.interrupted;
  tokens += other.tokens;
  rows += other.rows;
  bytes += other.bytes;
  shared += other.shared;
  latency.Merge(other.latency);
}

void LoadTally::NoteError(ErrorCounts& counts, const absl::Status& status, const char* what) {
  ++counts[status.code()];
  if (first_error.empty()) first_error = absl::StrCat(what, ": ", status.ToString());
}

void LoadTally::Add(const StepOutcome& outcome) {
  kinds[static_cast<size_t>(outcome.kind)].Add(outcome);
  start_delay.Add(absl::FromChrono(outcome.sent - outcome.intended));
  if (outcome.end != StepOutcome::End::kAnswered) return;
  last_finished = std::max(last_finished, outcome.finished);
  if (!outcome.status.ok()) NoteError(step_errors, outcome.status, "a step");
  for (const absl::Status& segment : outcome.refused) NoteError(segment_errors, segment, "a segment");
}

void LoadTally::Merge(const LoadTally& other) {
  for (size_t kind = 0; kind < kStepKinds; ++kind) kinds[kind].Merge(other.kinds[kind]);
  start_delay.Merge(other.start_delay);
  MergeErrors(other.step_errors, step_errors);
  MergeErrors(other.segment_errors, segment_errors);
  if (first_error.empty()) first_error = other.first_error;
  starts_dropped += other.starts_dropped;
  last_finished = std::max(last_finished, other.last_finished);
}

KindTally LoadTally::All() const {
  KindTally all;
  for (const KindTally& kind : kinds) all.Merge(kind);
  return all;
}

double LoadTally::ErrorRate() const {
  uint64_t good = 0;
  uint64_t bad = starts_dropped;
  for (const KindTally& kind : kinds) {
    good += kind.ok;
    bad += kind.failed;
  }
  return bad == 0 ? 0 : static_cast<double>(bad) / static_cast<double>(good + bad);
}

}  // namespace engram
