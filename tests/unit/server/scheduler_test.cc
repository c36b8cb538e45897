#include "server/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/server/scheduler_fixture.h"

namespace engram {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(SchedulerTest, DeliversEveryByteInOrder) {
  for (const auto format : {v1::ROW_FORMAT_PACKED, v1::ROW_FORMAT_BF16, v1::ROW_FORMAT_HASH_IDS}) {
    auto [stream, sink] = Open();
    const Step step = MakeStep(7, 11, format);
    Submit(stream, MakeStep(7, 11, format));
    RunAll();
    const auto frames = sink->FramesOf(7);
    ExpectEnd(frames, absl::StatusCode::kOk);
    EXPECT_EQ(PayloadOf(frames), Expected(step)) << v1::RowFormat_Name(format);
    EXPECT_EQ(frames[0].results_size(), 1);
    const v1::StepReply& first_rows = frames[frames[0].token_count() > 0 ? 0 : 1];
    EXPECT_EQ(first_rows.layer(), 1u);
    EXPECT_EQ(first_rows.token_begin(), 0u);
    EXPECT_EQ(frames.back().layer(), 14u);
    EXPECT_EQ(frames.back().token_begin() + frames.back().token_count(), 11u);
    EXPECT_EQ(frames[0].table_version(), 1u);
  }
  EXPECT_EQ(gate_.steps(), 0);
}

TEST_F(SchedulerTest, HashIdsNeedNoRanks) {
  auto [stream, sink] = Open();
  Submit(stream, MakeStep(1, 3, v1::ROW_FORMAT_HASH_IDS));
  RunAll();
  ExpectEnd(sink->FramesOf(1), absl::StatusCode::kOk);
  EXPECT_EQ(engine_.gathers, 0);
}

TEST_F(SchedulerTest, DecodeGoesBeforePrefill) {
  auto [slow, slow_sink] = Open();
  auto [fast, fast_sink] = Open();
  Submit(slow, MakeStep(1, 100));
  ASSERT_TRUE(scheduler_.RunRound(engine_, absl::UnixEpoch()).ok());
  Submit(fast, MakeStep(2, 1));
  ASSERT_TRUE(scheduler_.RunRound(engine_, absl::UnixEpoch()).ok());
  ExpectEnd(fast_sink->FramesOf(2), absl::StatusCode::kOk);  // one round later, with the prefill far from done
  EXPECT_EQ(LastFrames(slow_sink->FramesOf(1)), 0);
  // Also on the same stream, past what waits there.
  Submit(slow, MakeStep(3, 1));
  ASSERT_TRUE(scheduler_.RunRound(engine_, absl::UnixEpoch()).ok());
  ExpectEnd(slow_sink->FramesOf(3), absl::StatusCode::kOk);
  RunAll();
  EXPECT_EQ(PayloadOf(slow_sink->FramesOf(1)), Expected(MakeStep(1, 100)));
}

TEST_F(SchedulerTest, DecodeDoesNotStarvePrefill) {
  auto [slow, slow_sink] = Open();
  auto [fast, fast_sink] = Open();
  Submit(slow, MakeStep(1, 6));
  uint64_t step_id = 2;
  for (int round = 0; round < 40; ++round) {
    for (int i = 0; i < 4; ++i) Submit(fast, MakeStep(step_id++, 4));  // 1,584 bytes of rows each
    ASSERT_TRUE(scheduler_.RunRound(engine_, absl::UnixEpoch()).ok());
  }
  ExpectEnd(slow_sink->FramesOf(1), absl::StatusCode::kOk);
}

TEST_F(SchedulerTest, PrefillStreamsTakeTurns) {
  auto sink = std::make_shared<RecordingSink>();
  const uint64_t first = scheduler_.OpenStream(sink);
  const uint64_t second = scheduler_.OpenStream(sink);
  Submit(first, MakeStep(1, 9));  // three frames a layer
  Submit(first, MakeStep(2, 9));
  Submit(second, MakeStep(3, 9));
  RunAll();
  EXPECT_THAT(sink->order(), ElementsAre(1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 2, 2, 2, 2, 2, 2));
}

TEST_F(SchedulerTest, RoundsStayWithinTheirBound) {
  auto [stream, sink] = Open();
  Submit(stream, MakeStep(1, 50));
  const absl::StatusOr<size_t> frames = scheduler_.RunRound(engine_, absl::UnixEpoch());
  EXPECT_EQ(*frames, 3u);  // 3 * 594 of 2000 bytes
  RunAll();
  ExpectEnd(sink->FramesOf(1), absl::StatusCode::kOk);  // the engine refuses larger rounds
}

TEST_F(SchedulerTest, CancelledStepEndsOnce) {
  auto [stream, sink] = Open();
  Submit(stream, MakeStep(1, 50));
  ASSERT_TRUE(scheduler_.RunRound(engine_, absl::UnixEpoch()).ok());
  EXPECT_TRUE(scheduler_.Cancel(stream, 1));
  EXPECT_TRUE(scheduler_.Cancel(stream, 1));
  RunAll();
  ExpectEnd(sink->FramesOf(1), absl::StatusCode::kCancelled);
  EXPECT_EQ(sink->FramesOf(1).size(), 4u);  // three with rows, then the end
  EXPECT_FALSE(scheduler_.Cancel(stream, 1));
  EXPECT_FALSE(scheduler_.Cancel(stream, 99));
  EXPECT_EQ(gate_.steps(), 0);
}

TEST_F(SchedulerTest, CancelBeforeWorkCostsNoRoundAndSaysResults) {
  auto [stream, sink] = Open();
  Submit(stream, MakeStep(1, 50));
  scheduler_.Cancel(stream, 1);
  RunAll();
  const auto frames = sink->FramesOf(1);
  ExpectEnd(frames, absl::StatusCode::kCancelled);
  EXPECT_EQ(frames.back().results_size(), 1);
  EXPECT_TRUE(frames.back().rows().empty());
  EXPECT_EQ(engine_.gathers, 0);
}

TEST_F(SchedulerTest, CancelDuringTheRoundDropsItsRows) {
  auto [stream, sink] = Open();
  Submit(stream, MakeStep(1, 1));
  const uint64_t id = stream;
  engine_.fault = [&](absl::Span<const RowBlock>) {
    EXPECT_TRUE(scheduler_.Cancel(id, 1));
    return absl::OkStatus();
  };
  RunAll();
  const auto frames = sink->FramesOf(1);
  ExpectEnd(frames, absl::StatusCode::kCancelled);
  EXPECT_EQ(PayloadOf(frames), "");
  EXPECT_EQ(frames[0].results_size(), 1);
}

TEST_F(SchedulerTest, ExpiredStepDoesNoWork) {
  auto [stream, sink] = Open();
  Step step = MakeStep(1, 50);
  step.deadline = absl::UnixEpoch() + absl::Seconds(1);
  Submit(stream, std::move(step));
  ASSERT_TRUE(scheduler_.RunRound(engine_, absl::UnixEpoch()).ok());
  EXPECT_EQ(engine_.gathers, 1);
  RunAll(absl::UnixEpoch() + absl::Seconds(1));
  ExpectEnd(sink->FramesOf(1), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(engine_.gathers, 1);
}

TEST_F(SchedulerTest, DataLossFailsOnlyTheStepsItHits) {
  auto [stream, sink] = Open();
  Step first = MakeStep(1, 1);
  first.layer_indices = {1};
  Step second = MakeStep(2, 1);
  second.layer_indices = {0};
  Submit(stream, std::move(first));
  Submit(stream, std::move(second));
  Submit(stream, MakeStep(3, 1, v1::ROW_FORMAT_HASH_IDS));
  engine_.fault = [](absl::Span<const RowBlock> blocks) {
    for (const RowBlock& block : blocks) {
      if (block.layer_index == 1 && !block.ids.empty()) return absl::DataLossError("layer 1: the file changed");
    }
    return absl::OkStatus();
  };
  RunAll();
  const auto lost = sink->FramesOf(1);
  ExpectEnd(lost, absl::StatusCode::kDataLoss);
  EXPECT_THAT(lost.back().message(), HasSubstr("the file changed"));
  EXPECT_EQ(PayloadOf(lost), "");
  Step expected = MakeStep(2, 1);
  expected.layer_indices = {0};
  ExpectEnd(sink->FramesOf(2), absl::StatusCode::kOk);
  EXPECT_EQ(PayloadOf(sink->FramesOf(2)), Expected(expected));
  ExpectEnd(sink->FramesOf(3), absl::StatusCode::kOk);
  // And the server goes on.
  engine_.fault = nullptr;
  Submit(stream, MakeStep(4, 5));
  RunAll();
  ExpectEnd(sink->FramesOf(4), absl::StatusCode::kOk);
}

TEST_F(SchedulerTest, LostRankTellsEveryStep) {
  auto [stream, sink] = Open();
  Submit(stream, MakeStep(1, 50));
  Submit(stream, MakeStep(2, 50));
  Submit(stream, MakeStep(3, 1));
  engine_.fault = [](absl::Span<const RowBlock>) { return absl::UnavailableError("rank 2 is silent"); };
  EXPECT_EQ(scheduler_.RunRound(engine_, absl::UnixEpoch()).status(), absl::UnavailableError("rank 2 is silent"));
  for (const uint64_t step_id : {1, 2, 3}) {
    ExpectEnd(sink->FramesOf(step_id), absl::StatusCode::kUnavailable);
    EXPECT_EQ(PayloadOf(sink->FramesOf(step_id)), "");
  }
}

TEST_F(SchedulerTest, ClosedStreamIsForgotten) {
  auto [stream, sink] = Open();
  auto [other, other_sink] = Open();
  Submit(stream, MakeStep(1, 50));
  Submit(stream, MakeStep(2, 1));
  Submit(other, MakeStep(1, 50));
  ASSERT_TRUE(scheduler_.RunRound(engine_, absl::UnixEpoch()).ok());
  const size_t before = sink->order().size();
  scheduler_.CloseStream(stream);
  Submit(stream, MakeStep(3, 1));
  RunAll();
  EXPECT_EQ(sink->order().size(), before);
  EXPECT_EQ(gate_.steps(), 0);
  EXPECT_EQ(sink.use_count(), 1);
  ExpectEnd(other_sink->FramesOf(1), absl::StatusCode::kOk);
}

TEST_F(SchedulerTest, StepWithoutRowsIsOneFrame) {
  auto [stream, sink] = Open();
  Step step = MakeStep(1, 0);
  step.segments.clear();
  Submit(stream, std::move(step));
  RunAll();
  ASSERT_EQ(sink->FramesOf(1).size(), 1u);
  ExpectEnd(sink->FramesOf(1), absl::StatusCode::kOk);
  EXPECT_EQ(engine_.gathers, 0);
}

TEST_F(SchedulerTest, CloseStatusComesWithTheRows) {
  auto [stream, sink] = Open();
  Step step = MakeStep(1, 2);
  step.close_status = absl::AbortedError("session 9 is in use");
  Submit(stream, std::move(step));
  RunAll();
  ExpectEnd(sink->FramesOf(1), absl::StatusCode::kAborted);
  EXPECT_EQ(PayloadOf(sink->FramesOf(1)), Expected(MakeStep(1, 2)));
}

class SlowClientTest : public SchedulerTest {
 protected:
  static SchedulerOptions Options() {
    SchedulerOptions options = TinyOptions();
    options.unsent_bytes_max = 4 * 4096;  // four buffers of the smallest class
    return options;
  }
  SlowClientTest() : SchedulerTest(Options()) {}
};

TEST_F(SlowClientTest, OnlyTheStreamThatDoesNotReadWaits) {
  auto [slow, slow_sink] = Open();
  auto [fast, fast_sink] = Open();
  Submit(slow, MakeStep(1, 60));  // 20 frames a layer
  Submit(fast, MakeStep(2, 60));
  for (int i = 0; i < 40; ++i) {
    RunAll();
    fast_sink->Release();
    EXPECT_LE(slow_sink->order().size(), 4u);
  }
  EXPECT_EQ(fast_sink->order().size(), 40u);
  EXPECT_EQ(slow_sink->order().size(), 4u);
  // A waiting step can still be cancelled.
  scheduler_.Cancel(slow, 1);
  RunAll();
  ExpectEnd(slow_sink->FramesOf(1), absl::StatusCode::kCancelled);
}

TEST_F(SlowClientTest, SendingWakesTheEngine) {
  auto [slow, slow_sink] = Open();
  Submit(slow, MakeStep(1, 60));
  size_t frames = 0;
  while (frames < 40) {
    RunAll();
    const size_t now = slow_sink->order().size();
    ASSERT_GT(now, frames);
    frames = now;
    scheduler_.WaitFor(absl::ZeroDuration(), absl::UnixEpoch());  // takes rings from before
    slow_sink->Release();
    const absl::Time before = absl::Now();
    if (frames < 40) scheduler_.WaitFor(absl::Seconds(30), absl::UnixEpoch());
    ASSERT_LT(absl::Now() - before, absl::Seconds(20));
  }
}

TEST(StepGateTest, BoundsAndCloses) {
  StepGate gate(2, absl::UnavailableError("loading 0%"));
  EXPECT_EQ(gate.Enter().status(), absl::UnavailableError("loading 0%"));
  gate.Open();
  absl::StatusOr<StepTicket> first = gate.Enter();
  absl::StatusOr<StepTicket> second = gate.Enter();
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(gate.Enter().status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(gate.Enter().status().message()), HasSubstr("queue_steps_max = 2"));
  EXPECT_EQ(gate.steps(), 2);
  *first = StepTicket();
  EXPECT_TRUE(gate.Enter().ok());
  gate.Close(absl::UnavailableError("draining"));
  EXPECT_EQ(gate.Enter().status(), absl::UnavailableError("draining"));
  EXPECT_EQ(gate.steps(), 1);
}

}  // namespace
}  // namespace engram
