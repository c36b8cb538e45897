// Two rounds in flight, and what the engine says when one of them fails; the engine loop around them.

#include <gtest/gtest.h>

#include <atomic>
#include <memory>

#include "server/engine_loop.h"
#include "tests/unit/server/flight_fixture.h"

namespace engram {
namespace {

using Code = absl::StatusCode;

TEST_F(FlightTest, DataLossAtBegin) {
  auto [stream, sink] = Open();
  DamageLayer('B');
  Submit(stream, MakeStepOf(0, 1, 1));
  RunOnce();
  Submit(stream, MakeStepOf(1, 2, 1));
  Submit(stream, MakeStepOf(0, 3, 1));
  RunOnce();
  EXPECT_EQ(engine_.calls, "BBFGG");
  ExpectRows(*sink, MakeStepOf(0, 1, 1));
  ExpectEnd(sink->FramesOf(2), Code::kDataLoss);
  EXPECT_EQ(PayloadOf(sink->FramesOf(2)), "");
  ExpectRows(*sink, MakeStepOf(0, 3, 1));
  EXPECT_EQ(failures_, 1);
  EXPECT_EQ(gate_.steps(), 0);
}

TEST_F(FlightTest, DataLossAtFinishWithAnotherRoundInFlight) {
  auto [stream, sink] = Open();
  DamageLayer('F');
  Submit(stream, MakeStepOf(1, 1, 1));
  Submit(stream, MakeStepOf(0, 2, 1));
  RunOnce();
  Submit(stream, MakeStepOf(0, 3, 1));
  RunOnce();
  EXPECT_EQ(engine_.calls, "BBFFGG");
  ExpectEnd(sink->FramesOf(1), Code::kDataLoss);
  EXPECT_EQ(PayloadOf(sink->FramesOf(1)), "");
  ExpectRows(*sink, MakeStepOf(0, 2, 1));
  ExpectRows(*sink, MakeStepOf(0, 3, 1));
  EXPECT_EQ(failures_, 1);
}

TEST_F(FlightTest, AStepThatFailsWithBothRoundsFailsOnce) {
  auto [stream, sink] = Open();
  DamageLayer('F');
  Submit(stream, MakeStepOf(1, 1, 18));
  RunOnce();
  RunOnce();
  EXPECT_EQ(engine_.calls, "BBFFGG");
  ExpectEnd(sink->FramesOf(1), Code::kDataLoss);
  EXPECT_EQ(PayloadOf(sink->FramesOf(1)), "");
  EXPECT_EQ(failures_, 1);
  EXPECT_EQ(RunOnce(), 0u);
}

class LostRankTest : public FlightTest {
 protected:
  // One step in flight, two that wait.
  std::shared_ptr<RecordingSink> BeginOne() {
    auto [stream, sink] = Open();
    Submit(stream, MakeStep(1, 1));
    RunOnce();
    Submit(stream, MakeStep(2, 1));
    Submit(stream, MakeStep(3, 18));
    return sink;
  }

  static absl::Status Silent(absl::Span<const RowBlock>) { return absl::UnavailableError("rank 2 is silent"); }

  void ExpectLost(RecordingSink& sink, uint64_t first_step_id) {
    EXPECT_EQ(scheduler_.RunRound(engine_, absl::UnixEpoch()).status(), absl::UnavailableError("rank 2 is silent"));
    for (uint64_t step_id = first_step_id; step_id <= 3; ++step_id) {
      ExpectEnd(sink.FramesOf(step_id), Code::kUnavailable);
      EXPECT_EQ(PayloadOf(sink.FramesOf(step_id)), "");
    }
    EXPECT_EQ(engine_.begun(), 0u);
    EXPECT_EQ(gate_.steps(), 0);
    EXPECT_EQ(failures_, 0);
  }
};

TEST_F(LostRankTest, AtBegin) {
  const std::shared_ptr<RecordingSink> sink = BeginOne();
  engine_.fault = Silent;
  ExpectLost(*sink, 2);
  EXPECT_EQ(engine_.calls, "BBF");
  ExpectRows(*sink, MakeStep(1, 1));  // its round was finished
}

TEST_F(LostRankTest, AtFinish) {
  const std::shared_ptr<RecordingSink> sink = BeginOne();
  engine_.late_fault = Silent;
  ExpectLost(*sink, 1);
  EXPECT_EQ(engine_.calls, "BBFF");
}

TEST_F(LostRankTest, AtBeginAndFinish) {
  const std::shared_ptr<RecordingSink> sink = BeginOne();
  engine_.fault = Silent;
  engine_.late_fault = Silent;
  ExpectLost(*sink, 1);
  EXPECT_EQ(engine_.calls, "BBF");
}

TEST_F(LostRankTest, WhileStepsAreTriedOneByOne) {
  const std::shared_ptr<RecordingSink> sink = BeginOne();
  engine_.fault = [this](absl::Span<const RowBlock> blocks) {
    return engine_.calls.back() == 'G' ? Silent(blocks) : absl::OkStatus();
  };
  engine_.late_fault = [](absl::Span<const RowBlock>) { return absl::DataLossError("a file changed"); };
  ExpectLost(*sink, 1);
  EXPECT_EQ(engine_.calls, "BBFFGG");
}

TEST_F(FlightTest, LoopDeliversWhatIsInFlightBeforeItStops) {
  std::atomic<bool> stop{false};
  auto [stream, sink] = Open();
  Submit(stream, MakeStep(1, 18));
  engine_.fault = [&stop](absl::Span<const RowBlock>) {
    stop = true;
    return absl::OkStatus();
  };
  EXPECT_TRUE(RunEngineLoop(scheduler_, engine_, absl::Hours(1), stop).ok());
  EXPECT_EQ(engine_.calls, "BF");
  EXPECT_EQ(sink->order().size(), 3u);
}

TEST_F(FlightTest, LoopHearsOfALossInItsLastRound) {
  std::atomic<bool> stop{false};
  auto [stream, sink] = Open();
  Submit(stream, MakeStep(1, 18));
  engine_.fault = [&stop](absl::Span<const RowBlock>) {
    stop = true;
    return absl::OkStatus();
  };
  engine_.late_fault = [](absl::Span<const RowBlock>) { return absl::UnavailableError("rank 1 is silent"); };
  EXPECT_EQ(RunEngineLoop(scheduler_, engine_, absl::Hours(1), stop), absl::UnavailableError("rank 1 is silent"));
  ExpectEnd(sink->FramesOf(1), Code::kUnavailable);
}

}  // namespace
}  // namespace engram
