#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <random>
#include <thread>
#include <tuple>

#include "server/engine_loop.h"
#include "tests/unit/server/scheduler_fixture.h"

namespace engram {
namespace {

constexpr int kClients = 3;
constexpr int kStepsOfClient = 300;
constexpr v1::RowFormat kFormats[] = {v1::ROW_FORMAT_PACKED, v1::ROW_FORMAT_BF16, v1::ROW_FORMAT_HASH_IDS};

// A client's thread: submits steps of any size, cancels some, lets deadlines pass, sends now and then.
struct Client {
  uint64_t stream = 0;
  std::shared_ptr<RecordingSink> sink;
  std::map<uint64_t, std::vector<v1::StepReply>> got;
};

// Seed, and the rounds that the engine takes at once.
class SchedulerRandomTest : public SchedulerTest, public ::testing::WithParamInterface<std::tuple<int, int>> {
 protected:
  static SchedulerOptions Options() {
    SchedulerOptions options = TinyOptions();
    options.unsent_bytes_max = 1 << 30;  // the sinks keep everything
    return options;
  }
  SchedulerRandomTest() : SchedulerTest(Options()) {}

  void Drive(Client& client, uint64_t seed) {
    std::mt19937_64 random(seed);
    for (uint64_t step_id = 1; step_id <= kStepsOfClient; ++step_id) {
      Step step = MakeStep(step_id, 1 + random() % 12, kFormats[random() % 3]);
      if (random() % 8 == 0) step.deadline = absl::Now() + absl::Microseconds(random() % 2000);
      absl::StatusOr<StepTicket> ticket = gate_.Enter();
      for (; !ticket.ok(); ticket = gate_.Enter()) std::this_thread::yield();
      scheduler_.Submit(client.stream, *std::move(ticket), std::move(step));
      if (random() % 5 == 0) scheduler_.Cancel(client.stream, 1 + random() % step_id);
      if (random() % 16 == 0) std::this_thread::yield();
    }
  }

  // Returns how many of its steps ended with rows.
  int CheckSteps(Client& client) const {
    int served = 0;
    for (uint64_t step_id = 1; step_id <= kStepsOfClient; ++step_id) {
      SCOPED_TRACE(testing::Message() << "step " << step_id);
      const auto frames = client.sink->FramesOf(step_id);
      if (frames.empty()) {
        ADD_FAILURE() << "not answered";
        continue;
      }
      EXPECT_EQ(LastFrames(frames), 1);
      EXPECT_TRUE(frames.back().last());
      int results = 0;
      for (const v1::StepReply& frame : frames) results += frame.results_size();
      EXPECT_EQ(results, 1);
      if (frames.back().code() != 0) continue;
      ++served;
      const uint64_t tokens = frames.back().token_begin() + frames.back().token_count();
      EXPECT_TRUE(std::any_of(std::begin(kFormats), std::end(kFormats), [&](v1::RowFormat format) {
        return PayloadOf(frames) == Expected(MakeStep(step_id, tokens, format));
      }));
    }
    return served;
  }
};

TEST_P(SchedulerRandomTest, EveryStepEndsExactlyOnce) {
  const auto seed = static_cast<uint64_t>(std::get<0>(GetParam()));
  engine_.rounds_in_flight = std::get<1>(GetParam());
  SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << engine_.rounds_in_flight << " rounds in flight");
  std::mt19937_64 faults(seed);
  engine_.fault = [&faults](absl::Span<const RowBlock>) {
    return faults() % 20 == 0 ? absl::DataLossError("a file changed") : absl::OkStatus();
  };
  engine_.late_fault = engine_.fault;
  std::vector<Client> clients(kClients);
  for (Client& client : clients) std::tie(client.stream, client.sink) = Open();
  auto [doomed, doomed_sink] = Open();  // closed half-way
  Client leaver{doomed, doomed_sink, {}};

  std::atomic<bool> stop{false};
  absl::Status loop;
  std::thread engine([&] { loop = RunEngineLoop(scheduler_, engine_, absl::Milliseconds(1), stop); });
  std::vector<std::thread> threads;
  for (size_t i = 0; i < clients.size(); ++i) {
    threads.emplace_back([&, i] { Drive(clients[i], seed * 100 + i); });
  }
  threads.emplace_back([&] {
    Drive(leaver, seed);
    scheduler_.CloseStream(leaver.stream);
  });
  for (std::thread& thread : threads) thread.join();
  const absl::Time give_up = absl::Now() + absl::Seconds(60);
  while (gate_.steps() > 0 && absl::Now() < give_up) absl::SleepFor(absl::Milliseconds(1));
  stop = true;
  scheduler_.Wake();
  engine.join();

  EXPECT_TRUE(loop.ok()) << loop;
  EXPECT_EQ(gate_.steps(), 0);
  int served = 0;
  for (Client& client : clients) served += CheckSteps(client);
  EXPECT_GT(served, kClients * kStepsOfClient / 4);
}

INSTANTIATE_TEST_SUITE_P(Seeds, SchedulerRandomTest,
                         ::testing::Combine(::testing::Range(1, 4), ::testing::Range(1, 3)));

TEST_F(SchedulerTest, IdleLoopSendsHeartbeatsAndHearsALoss) {
  std::atomic<bool> stop{false};
  engine_.fault = [this](absl::Span<const RowBlock>) {
    return engine_.heartbeats < 5 ? absl::OkStatus() : absl::UnavailableError("rank 1 is silent");
  };
  EXPECT_EQ(RunEngineLoop(scheduler_, engine_, absl::Milliseconds(2), stop),
            absl::UnavailableError("rank 1 is silent"));
  EXPECT_EQ(engine_.heartbeats, 5);
}

TEST_F(SchedulerTest, LoopStopsWhenTold) {
  std::atomic<bool> stop{false};
  absl::Status loop = absl::UnknownError("runs");
  std::thread engine([&] { loop = RunEngineLoop(scheduler_, engine_, absl::Hours(1), stop); });
  auto [stream, sink] = Open();
  Submit(stream, MakeStep(1, 5));
  while (gate_.steps() > 0) std::this_thread::yield();
  stop = true;
  scheduler_.Wake();
  engine.join();
  EXPECT_TRUE(loop.ok()) << loop;
  ExpectEnd(sink->FramesOf(1), absl::StatusCode::kOk);
}

}  // namespace
}  // namespace engram
