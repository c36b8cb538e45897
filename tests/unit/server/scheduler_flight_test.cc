// Two rounds in flight: the engine fills buffers at Finish, and much may happen to a step until then.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/server/flight_fixture.h"

namespace engram {
namespace {

using ::testing::ElementsAre;

using Code = absl::StatusCode;

TEST_F(FlightTest, BeginsTheNextRoundBeforeItDelivers) {
  auto [stream, sink] = Open();
  Submit(stream, MakeStep(1, 18));  // 12 frames, 3 a round
  EXPECT_EQ(RunOnce(), 3u);
  EXPECT_EQ(engine_.calls, "B");
  EXPECT_EQ(sink->order().size(), 0u);
  EXPECT_EQ(RunOnce(), 3u);
  EXPECT_EQ(engine_.calls, "BBF");
  EXPECT_EQ(sink->order().size(), 3u);
  EXPECT_EQ(RunOnce(), 3u);
  EXPECT_EQ(RunOnce(), 3u);
  EXPECT_EQ(RunOnce(), 3u);
  EXPECT_EQ(engine_.calls, "BBFBFBFF");
  EXPECT_EQ(RunOnce(), 0u);
  EXPECT_EQ(sink->order().size(), 12u);
  ExpectRows(*sink, MakeStep(1, 18));
  EXPECT_EQ(gate_.steps(), 0);
}

TEST_F(FlightTest, ALoneRoundIsDeliveredAtOnce) {
  auto [stream, sink] = Open();
  Submit(stream, MakeStepOf(0, 1, 1));
  scheduler_.WaitFor(absl::ZeroDuration(), absl::UnixEpoch());  // takes the ring
  EXPECT_EQ(RunOnce(), 1u);
  const absl::Time before = absl::Now();
  scheduler_.WaitFor(absl::Seconds(30), absl::UnixEpoch());
  EXPECT_LT(absl::Now() - before, absl::Seconds(20));
  EXPECT_EQ(RunOnce(), 1u);
  EXPECT_EQ(engine_.calls, "BF");
  ExpectRows(*sink, MakeStepOf(0, 1, 1));
  EXPECT_EQ(RunOnce(), 0u);
}

TEST_F(FlightTest, WhatNeedsNoRanksWaitsForNothingButItsTurn) {
  auto [stream, sink] = Open();
  Submit(stream, MakeStep(1, 1, v1::ROW_FORMAT_HASH_IDS));
  RunOnce();
  ExpectEnd(sink->FramesOf(1), Code::kOk);
  Submit(stream, MakeStepOf(0, 2, 1));
  RunOnce();
  Submit(stream, MakeStep(3, 1, v1::ROW_FORMAT_HASH_IDS));
  RunOnce();
  EXPECT_EQ(engine_.calls, "BF");
  EXPECT_THAT(sink->order(), ElementsAre(1, 1, 2, 3, 3));
}

TEST_F(FlightTest, DecodeGoesBeforePrefill) {
  auto [slow, slow_sink] = Open();
  auto [fast, fast_sink] = Open();
  Submit(slow, MakeStep(1, 100));
  RunOnce();
  Submit(fast, MakeStep(2, 1));
  RunOnce();
  EXPECT_EQ(fast_sink->order().size(), 0u);
  EXPECT_EQ(slow_sink->order().size(), 3u);
  RunOnce();
  ExpectRows(*fast_sink, MakeStep(2, 1));
  EXPECT_EQ(slow_sink->order().size(), 5u);  // the second round had room for two more
  RunAll();
  ExpectRows(*slow_sink, MakeStep(1, 100));
}

TEST_F(FlightTest, CancelledInFlight) {
  auto [stream, sink] = Open();
  Submit(stream, MakeStep(1, 18));
  RunOnce();
  EXPECT_TRUE(scheduler_.Cancel(stream, 1));
  RecordingSink& got = *sink;
  engine_.late_fault = [&](absl::Span<const RowBlock>) {
    EXPECT_EQ(got.order().size(), 0u);
    EXPECT_EQ(gate_.steps(), 1);
    EXPECT_EQ(scheduler_.unsent_bytes(), 3 * kFrameBuffer);
    return absl::OkStatus();
  };
  RunOnce();
  EXPECT_EQ(engine_.calls, "BF");
  const auto frames = sink->FramesOf(1);
  ExpectEnd(frames, Code::kCancelled);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].results_size(), 1);
  EXPECT_EQ(PayloadOf(frames), "");
  EXPECT_EQ(scheduler_.unsent_bytes(), 0u);
  EXPECT_EQ(gate_.steps(), 0);
  EXPECT_EQ(RunOnce(), 0u);
}

TEST_F(FlightTest, CancelledInFlightWhileOthersGoOn) {
  auto [stream, sink] = Open();
  Submit(stream, MakeStep(1, 1));
  RunOnce();
  Submit(stream, MakeStep(2, 18));
  EXPECT_TRUE(scheduler_.Cancel(stream, 1));
  RunOnce();
  EXPECT_EQ(engine_.calls, "BBF");
  ExpectEnd(sink->FramesOf(1), Code::kCancelled);
  EXPECT_EQ(PayloadOf(sink->FramesOf(1)), "");
  RunAll();
  ExpectRows(*sink, MakeStep(2, 18));
}

TEST_F(FlightTest, CancelledWithFramesInBothRounds) {
  auto [stream, sink] = Open();
  Submit(stream, MakeStep(1, 50));
  RunOnce();
  engine_.fault = [&, id = stream](absl::Span<const RowBlock>) {
    scheduler_.Cancel(id, 1);
    return absl::OkStatus();
  };
  RunOnce();  // begins the second, drops the first
  EXPECT_EQ(LastFrames(sink->FramesOf(1)), 0);
  EXPECT_EQ(gate_.steps(), 1);
  EXPECT_EQ(scheduler_.unsent_bytes(), 3 * kFrameBuffer);
  RunOnce();
  EXPECT_EQ(engine_.calls, "BBFF");
  ExpectEnd(sink->FramesOf(1), Code::kCancelled);
  EXPECT_EQ(PayloadOf(sink->FramesOf(1)), "");
  EXPECT_EQ(gate_.steps(), 0);
}

TEST_F(FlightTest, DeadlinePassesInFlight) {
  auto [stream, sink] = Open();
  Step step = MakeStep(1, 18);
  step.deadline = absl::UnixEpoch() + absl::Seconds(1);
  Submit(stream, std::move(step));
  RunOnce();
  RunAll(absl::UnixEpoch() + absl::Seconds(1));
  EXPECT_EQ(engine_.calls, "BF");
  ExpectEnd(sink->FramesOf(1), Code::kDeadlineExceeded);
  EXPECT_EQ(PayloadOf(sink->FramesOf(1)), "");
}

TEST_F(FlightTest, StreamClosedInFlight) {
  auto [stream, sink] = Open();
  auto [other, other_sink] = Open();
  Submit(stream, MakeStep(1, 18));
  RunOnce();
  Submit(other, MakeStep(1, 18));
  scheduler_.CloseStream(stream);
  EXPECT_EQ(RunOnce(), 3u);
  EXPECT_EQ(gate_.steps(), 1);
  RunAll();
  EXPECT_EQ(sink->order().size(), 0u);
  EXPECT_EQ(sink.use_count(), 1);
  ExpectRows(*other_sink, MakeStep(1, 18));
  other_sink->Release();
  EXPECT_EQ(scheduler_.unsent_bytes(), 0u);
}

class SlowReaderTest : public FlightTest {
 protected:
  static SchedulerOptions Options() {
    SchedulerOptions options = TinyOptions();
    options.unsent_bytes_max = 4 * kFrameBuffer;
    return options;
  }
  SlowReaderTest() : FlightTest(Options()) {}
};

TEST_F(SlowReaderTest, FramesInFlightAreUnsentBytes) {
  auto [stream, sink] = Open();
  Submit(stream, MakeStep(1, 18));
  engine_.fault = [this](absl::Span<const RowBlock>) {
    EXPECT_LE(scheduler_.unsent_bytes(), 4 * kFrameBuffer);
    return absl::OkStatus();
  };
  std::string rows;
  for (int i = 0; i < 3; ++i) {
    RunAll();
    EXPECT_EQ(sink->order().size(), (i + 1) * 4u);
    rows += PayloadOf(sink->FramesOf(1));
    sink->Release();
  }
  EXPECT_EQ(rows, Expected(MakeStep(1, 18)));
  EXPECT_EQ(gate_.steps(), 0);
}

}  // namespace
}  // namespace engram
