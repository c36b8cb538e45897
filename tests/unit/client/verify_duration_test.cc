// How long `engram verify` runs, and that it never passes having compared nothing.

#include <gtest/gtest.h>

#include "client/tool/verify_streams.h"
#include "tests/unit/client/golden_oracle.h"
#include "tests/unit/client/plain_service.h"

namespace engram {
namespace {

StreamsReport RunFor(const StreamsOptions& options, const PlainFaults& faults) {
  const Oracle oracle = OpenCase("tiny");
  const PlainService service(oracle, faults);
  return RunStreams(oracle, {}, {service.Description()}, options);
}

TEST(VerifyDurationTest, CountsItsDurationFromWhenAllAreConnected) {
  StreamsOptions options;
  options.streams = 2;
  options.duration = absl::Milliseconds(300);
  PlainFaults slow;
  slow.welcome_delay = absl::Milliseconds(400);
  const StreamsReport report = RunFor(options, slow);
  EXPECT_TRUE(report.status.ok()) << report.status;
  EXPECT_GT(report.counts.steps, 0u);
}

TEST(VerifyDurationTest, FailsWhenNothingWasCompared) {
  StreamsOptions options;
  options.duration = absl::Nanoseconds(1);
  const StreamsReport report = RunFor(options, PlainFaults());
  EXPECT_EQ(report.counts.steps, 0u);
  EXPECT_EQ(report.status, absl::DeadlineExceededError("not one step was compared within --duration 1ns"));
}

}  // namespace
}  // namespace engram
