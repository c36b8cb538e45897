// Steps and a report for tests of what is counted and told.

#ifndef ENGRAM_TESTS_UNIT_CLIENT_LOAD_SAMPLE_H_
#define ENGRAM_TESTS_UNIT_CLIENT_LOAD_SAMPLE_H_

#include <cstdint>
#include <utility>

#include "client/load/report.h"

namespace engram {

inline constexpr LoadTime kBegin = LoadTime(std::chrono::seconds(100));

// A step of 4 tokens that took `ms`, from its intended start at `begin_ms`.
inline StepOutcome Outcome(StepKind kind, int64_t begin_ms, int64_t ms, absl::Status status = absl::OkStatus()) {
  StepOutcome outcome;
  outcome.kind = kind;
  outcome.intended = kBegin + std::chrono::milliseconds(begin_ms);
  outcome.sent = outcome.intended;
  outcome.finished = outcome.intended + std::chrono::milliseconds(ms);
  outcome.status = std::move(status);
  if (outcome.status.ok()) outcome.tokens = 4, outcome.rows = 8, outcome.bytes = 800;
  return outcome;
}

// 100 decode steps of 1 to 100 ms, 10 prefill steps of 100 ms, 5 steps that failed, in 10 s.
inline LoadReport Sample() {
  LoadReport report;
  report.server = "127.0.0.1:1";
  report.model.set_name("<model> & \"co\"");
  report.settings = {{"profile", "mixed"}, {"seed", "1"}};
  report.ended = "duration";
  report.measured = absl::Seconds(10);
  for (int64_t ms = 1; ms <= 100; ++ms) report.total.Add(Outcome(StepKind::kDecode, ms, ms));
  for (int i = 0; i < 10; ++i) report.total.Add(Outcome(StepKind::kPrefill, i, 100));
  for (int i = 0; i < 4; ++i) report.total.Add(Outcome(StepKind::kDecode, i, 1, absl::UnavailableError("<gone>")));
  StepOutcome refused = Outcome(StepKind::kDecode, 0, 1);
  refused.refused.push_back(absl::FailedPreconditionError("a gap"));
  report.total.Add(refused);
  report.timeline.Add(absl::ZeroDuration(), absl::Seconds(1), report.total, 3);
  StageTimes stages;
  stages.rounds = 100;
  stages.elapsed = absl::Seconds(10);
  stages.hash = absl::Milliseconds(10);
  stages.gather = absl::Milliseconds(70);
  stages.deliver = absl::Milliseconds(20);
  report.stages = stages;
  return report;
}

}  // namespace engram

#endif  // ENGRAM_TESTS_UNIT_CLIENT_LOAD_SAMPLE_H_
