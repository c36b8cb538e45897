// An engine that is lent: whoever submits a small step runs the round.

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "server/engine_loop.h"
#include "tests/unit/server/scheduler_fixture.h"

namespace engram {
namespace {

using Code = absl::StatusCode;

class LentTest : public SchedulerTest {
 protected:
  LentTest() {
    engine_.any_thread = true;
    scheduler_.Lend(engine_);
  }
  ~LentTest() override { scheduler_.TakeBack(); }

  void ExpectRows(RecordingSink& sink, const Step& step) {
    ExpectEnd(sink.FramesOf(step.step_id), Code::kOk);
    EXPECT_EQ(PayloadOf(sink.FramesOf(step.step_id)), Expected(step));
  }
};

TEST_F(LentTest, ASmallStepIsAnsweredBeforeSubmitReturns) {
  auto [stream, sink] = Open();
  for (const uint64_t step_id : {1, 2, 3}) {
    Submit(stream, MakeStep(step_id, 2));
    ExpectRows(*sink, MakeStep(step_id, 2));
  }
  EXPECT_EQ(engine_.gathers, 3);
  EXPECT_EQ(gate_.steps(), 0);
}

TEST_F(LentTest, ALargeStepWaitsForTheEngineThread) {
  auto [stream, sink] = Open();
  Submit(stream, MakeStep(1, 5));  // more than decode_tokens_max
  EXPECT_EQ(engine_.gathers, 0);
  Submit(stream, MakeStep(2, 1));  // goes by itself all the same
  ExpectRows(*sink, MakeStep(2, 1));
  EXPECT_EQ(sink->FramesOf(1).size(), 0u);
  RunAll();
  ExpectRows(*sink, MakeStep(1, 5));
}

TEST_F(LentTest, AStepOfManyBytesWaitsForTheEngineThread) {
  auto [stream, sink] = Open();
  Step step = MakeStep(1, 1);
  step.reply_bytes = uint64_t{1} << 20;
  Submit(stream, std::move(step));
  EXPECT_EQ(engine_.gathers, 0);
}

TEST_F(LentTest, WhileSomebodyHasTheTurnAStepWaits) {
  auto [stream, sink] = Open();
  const uint64_t id = stream;
  int nested = 0;
  engine_.fault = [&](absl::Span<const RowBlock>) {
    if (++nested > 1) return absl::OkStatus();
    // On a thread of its own, as another stream's would be; the turn is taken.
    std::thread([&] { Submit(id, MakeStep(2, 1)); }).join();
    EXPECT_EQ(sink->FramesOf(2).size(), 0u);
    return absl::OkStatus();
  };
  Submit(stream, MakeStep(1, 1));
  ExpectRows(*sink, MakeStep(1, 1));
  EXPECT_EQ(sink->FramesOf(2).size(), 0u);
  // The doorbell was rung for it.
  const absl::Time before = absl::Now();
  scheduler_.WaitFor(absl::Seconds(30), absl::UnixEpoch());
  EXPECT_LT(absl::Now() - before, absl::Seconds(20));
  RunAll();
  ExpectRows(*sink, MakeStep(2, 1));
}

TEST_F(LentTest, NobodyLeadsAfterTheEngineWasTakenBack) {
  auto [stream, sink] = Open();
  scheduler_.TakeBack();
  Submit(stream, MakeStep(1, 1));
  EXPECT_EQ(engine_.gathers, 0);
  RunAll();
  ExpectRows(*sink, MakeStep(1, 1));
}

TEST_F(LentTest, AStepThatFailsAloneIsTold) {
  auto [stream, sink] = Open();
  engine_.fault = [](absl::Span<const RowBlock>) { return absl::DataLossError("the file changed"); };
  Submit(stream, MakeStep(1, 1));
  ExpectEnd(sink->FramesOf(1), Code::kDataLoss);
  EXPECT_EQ(PayloadOf(sink->FramesOf(1)), "");
}

// Many threads submit small and large steps while the engine loop runs: each is answered once, and right.
TEST_F(LentTest, ManyThreadsAndTheEngineLoop) {
  constexpr int kThreads = 4;
  constexpr uint64_t kSteps = 40;  // the sink keeps their buffers
  std::atomic<bool> stop{false};
  std::thread loop([&] { EXPECT_TRUE(RunEngineLoop(scheduler_, engine_, absl::Milliseconds(5), stop).ok()); });
  std::vector<std::pair<uint64_t, std::shared_ptr<RecordingSink>>> streams;
  for (int i = 0; i < kThreads; ++i) streams.push_back(Open());
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (uint64_t id = 1; id <= kSteps; ++id) Submit(streams[static_cast<size_t>(i)].first, MakeStep(id, 1 + id % 9));
    });
  }
  for (std::thread& thread : threads) thread.join();
  while (gate_.steps() > 0) absl::SleepFor(absl::Milliseconds(1));
  stop = true;
  scheduler_.Wake();
  loop.join();
  for (auto& [stream, sink] : streams) {
    for (uint64_t id = 1; id <= kSteps; ++id) ExpectRows(*sink, MakeStep(id, 1 + id % 9));
  }
  EXPECT_EQ(scheduler_.counters().steps, kThreads * kSteps);
}

}  // namespace
}  // namespace engram
