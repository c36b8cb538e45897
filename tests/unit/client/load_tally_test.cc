// What is counted of steps, and over time.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/load/scoreboard.h"
#include "client/load/stage_times.h"
#include "client/load/timeline.h"
#include "tests/unit/client/load_sample.h"

namespace engram {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(LoadTallyTest, CountsStepsByWhatBecameOfThem) {
  LoadReport report = Sample();
  StepOutcome cancelled = Outcome(StepKind::kDecode, 0, 1, absl::CancelledError(""));
  cancelled.end = StepOutcome::End::kCancelled;
  report.total.Add(cancelled);
  cancelled.end = StepOutcome::End::kInterrupted;
  report.total.Add(cancelled);
  const KindTally& decode = report.total.of(StepKind::kDecode);
  EXPECT_EQ(decode.ok, 100u);
  EXPECT_EQ(decode.failed, 5u);
  EXPECT_EQ(decode.cancelled, 1u);
  EXPECT_EQ(decode.interrupted, 1u);
  EXPECT_EQ(decode.latency.count(), 100u) << "failures have no latency";
  EXPECT_EQ(decode.tokens, 404u) << "what was served of a step with a refused segment counts";
  EXPECT_EQ(report.total.All().ok, 110u);
  EXPECT_THAT(report.total.step_errors, ElementsAre(std::pair(absl::StatusCode::kUnavailable, 4u)));
  EXPECT_THAT(report.total.segment_errors, ElementsAre(std::pair(absl::StatusCode::kFailedPrecondition, 1u)));
  EXPECT_THAT(report.total.first_error, HasSubstr("<gone>"));
  EXPECT_DOUBLE_EQ(report.total.ErrorRate(), 5.0 / 115);
  report.total.starts_dropped = 5;
  EXPECT_DOUBLE_EQ(report.total.ErrorRate(), 10.0 / 120);
}

TEST(LoadTallyTest, AStepWithoutAnExactEndHasNoLatency) {
  LoadTally tally;
  StepOutcome outcome = Outcome(StepKind::kDecode, 0, 5);
  outcome.timed = false;
  tally.Add(outcome);
  EXPECT_EQ(tally.All().ok, 1u);
  EXPECT_EQ(tally.All().latency.count(), 0u);
}

TEST(ScoreboardTest, LeavesTheWarmUpOutOfTheTotal) {
  Scoreboard board(kBegin + std::chrono::milliseconds(100));
  board.Add(Outcome(StepKind::kDecode, 90, 9));
  board.Add(Outcome(StepKind::kDecode, 90, 10));
  board.AddDropped(3, kBegin);
  board.AddDropped(4, kBegin + std::chrono::seconds(1));
  EXPECT_EQ(board.Total().All().ok, 1u);
  EXPECT_EQ(board.Total().starts_dropped, 4u);
  const LoadTally interval = board.TakeInterval();
  EXPECT_EQ(interval.All().ok, 2u);
  EXPECT_EQ(interval.starts_dropped, 7u);
  EXPECT_EQ(board.TakeInterval().All().steps(), 0u);
}

TEST(TimelineTest, PutsNeighboursTogetherBeforeItGrowsTooLong) {
  Timeline timeline(4);
  LoadTally tally;
  tally.Add(Outcome(StepKind::kDecode, 0, 7));
  for (int i = 0; i < 11; ++i) timeline.Add(absl::Seconds(i), absl::Seconds(i + 1), tally, static_cast<uint64_t>(i));
  ASSERT_EQ(timeline.points().size(), 3u);
  EXPECT_EQ(timeline.points()[0].length, absl::Seconds(4));
  EXPECT_EQ(timeline.points()[0].steps, 4u);
  EXPECT_EQ(timeline.points()[0].due, 3u);
  EXPECT_EQ(timeline.points()[1].begin, absl::Seconds(4));
  EXPECT_EQ(timeline.points()[2].steps, 3u);
  EXPECT_EQ(timeline.points()[2].max, absl::Milliseconds(7));
  uint64_t steps = 0;
  for (const TimelinePoint& point : timeline.points()) steps += point.steps;
  EXPECT_EQ(steps, 11u);
}

TEST(TimelineTest, AShortLastIntervalJoinsThePointBefore) {
  Timeline timeline(10);
  timeline.Add(absl::ZeroDuration(), absl::Seconds(1), LoadTally(), 0);
  timeline.Add(absl::Seconds(1), absl::Seconds(1), LoadTally(), 0);
  timeline.Add(absl::Seconds(1), absl::Milliseconds(1100), LoadTally(), 0);
  ASSERT_EQ(timeline.points().size(), 1u);
  EXPECT_EQ(timeline.points()[0].length, absl::Milliseconds(1100));
}

TEST(StageTimesTest, AreWhatGrew) {
  v1::ServerStatus before;
  before.set_rounds(10);
  before.set_hash_ns(100);
  v1::ServerStatus after = before;
  EXPECT_EQ(StagesBetween(before, after, absl::Seconds(1)), std::nullopt);
  after.set_rounds(14);
  after.set_hash_ns(500);
  after.set_gather_ns(7000);
  const auto stages = StagesBetween(before, after, absl::Seconds(1));
  ASSERT_TRUE(stages.has_value());
  EXPECT_EQ(stages->rounds, 4u);
  EXPECT_EQ(stages->hash, absl::Nanoseconds(400));
  EXPECT_EQ(stages->busy(), absl::Nanoseconds(7400));
  EXPECT_EQ(StagesBetween(after, before, absl::Seconds(1)), std::nullopt) << "the server was started anew";
}

}  // namespace
}  // namespace engram
