// The server path under threads, delays and failures: every step ends once, with the right rows or an error.

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "tests/sim/client_run.h"
#include "tests/sim/sim_seed.h"
#include "tests/sim/simulator.h"

namespace engram {
namespace {

using Code = absl::StatusCode;

constexpr absl::Duration kPatience = absl::Seconds(60);

// Several clients at once, each with a seed of its own.
class Clients {
 public:
  Clients(const SimModel& sim, Simulator& server, uint64_t seed, const ClientOptions& options, int count) {
    for (int i = 0; i < count; ++i) {
      runs_.push_back(std::make_unique<ClientRun>(sim, server, seed + static_cast<uint64_t>(i) * 1000, options));
    }
    for (const auto& run : runs_) threads_.emplace_back([&run] { run->Go(); });
  }

  // Code of each step that was answered, and how often.
  std::map<Code, int> Join() {
    for (std::thread& thread : threads_) thread.join();
    std::map<Code, int> codes;
    for (const auto& run : runs_) {
      for (const auto& [code, count] : run->step_codes) codes[code] += count;
      cut_ += run->streams_cut;
      run->CloseSessions();
    }
    for (const auto& [code, count] : codes) std::printf("%s %d, ", absl::StatusCodeToString(code).c_str(), count);
    std::printf("streams cut: %d\n", cut_);
    return codes;
  }
  int cut() const { return cut_; }

 private:
  std::vector<std::unique_ptr<ClientRun>> runs_;
  std::vector<std::thread> threads_;
  int cut_ = 0;
};

// 40 tokens.
void SendStep(SimStream& stream, int step_id) {
  v1::ClientMessage message;
  message.mutable_step()->set_step_id(static_cast<uint64_t>(step_id));
  v1::Segment& segment = *message.mutable_step()->add_segments();
  for (int t = 0; t < 40; ++t) segment.add_token_ids(1);
  stream.Send(message);
}

// Hello, then steps 1 to `count`.
void SendSteps(SimStream& stream, int count) {
  v1::ClientMessage message;
  message.mutable_hello();
  stream.Send(message);
  for (int id = 1; id <= count; ++id) SendStep(stream, id);
}

// Before any step is answered.
bool HearsDrain(SimStream& stream) {
  for (const absl::Time give_up = absl::Now() + kPatience; absl::Now() < give_up;) {
    for (const v1::ServerMessage& message : stream.Take()) {
      if (message.has_drain()) return true;
    }
    absl::SleepFor(absl::Microseconds(100));
  }
  return false;
}

// That came since the last call; a step has only one.
std::map<Code, int> LastFrames(SimStream& stream) {
  std::map<Code, int> codes;
  std::set<uint64_t> ended;
  for (const v1::ServerMessage& message : stream.Take()) {
    if (!message.reply().last()) continue;
    EXPECT_TRUE(ended.insert(message.reply().step_id()).second) << message.reply().step_id() << " ended twice";
    ++codes[static_cast<Code>(message.reply().code())];
  }
  return codes;
}

class SimulatorTest : public ::testing::TestWithParam<uint64_t> {
 protected:
  static SimOptions Threaded() {
    SimOptions options;
    options.reaction_threads = 2;
    options.unsent_bytes_max = 20000;  // of a stream: slow readers wait
    return options;
  }

  const SimModel sim_;
  const std::string repeat_ = SayHowToRepeat(GetParam());
};

TEST_P(SimulatorTest, EveryStepEndsOnceWithRightRowsOrAnError) {
  SCOPED_TRACE(repeat_);
  Simulator server(sim_, Threaded());
  server.faults.seed = GetParam();
  server.faults.delay_max = absl::Microseconds(300);
  server.faults.data_loss_percent = 3;
  server.faults.bad_rows = 397;
  server.StartEngine();
  ClientRun::WriteShared(sim_, server);
  if (HasFailure()) return;
  std::map<Code, int> codes = Clients(sim_, server, GetParam(), {.streams = 60}, 4).Join();
  server.sessions().ForgetClient(kSharedClient);
  EXPECT_EQ(server.Leftovers(kPatience), "");
  server.Stop();
  EXPECT_TRUE(server.loop_status().ok()) << server.loop_status();
  EXPECT_GT(codes[Code::kOk], 500);
  EXPECT_GT(codes[Code::kDataLoss], 5);
}

TEST_P(SimulatorTest, TenThousandStreamsLeaveNothingBehind) {
  SCOPED_TRACE(repeat_);
  Simulator server(sim_, Threaded());
  server.faults.seed = GetParam();
  server.StartEngine();
  const ClientOptions options{.streams = 2500,
                              .steps_max = 5,
                              .private_only = true,
                              .cancel_one_in = 2,
                              .cancel_after_max = absl::Microseconds(400),
                              .wire_delay_max = absl::Microseconds(100)};
  Clients clients(sim_, server, GetParam(), options, 4);
  clients.Join();
  EXPECT_GT(clients.cut(), 3000);
  EXPECT_EQ(server.Leftovers(kPatience), "");
  EXPECT_EQ(server.scheduler().unsent_bytes(), 0u);
}

TEST_P(SimulatorTest, ALostRankIsToldToEveryStep) {
  SCOPED_TRACE(repeat_);
  int told = 0;
  for (uint64_t round = 0; round < 10 && !HasFailure(); ++round) {
    Simulator server(sim_, Threaded());
    server.faults.seed = GetParam() + round;
    server.faults.delay_max = absl::Microseconds(300);
    server.faults.rounds_until_lost = static_cast<int>(20 + (GetParam() + round) % 50);
    server.StartEngine();
    ClientRun::WriteShared(sim_, server);
    const ClientOptions options{.streams = 1 << 30, .cancel_one_in = 0, .outage = true};
    told += Clients(sim_, server, GetParam() + round, options, 4).Join()[Code::kUnavailable];
    server.sessions().ForgetClient(kSharedClient);
    EXPECT_EQ(server.Leftovers(kPatience), "");
    server.Stop();
    EXPECT_EQ(server.loop_status().code(), Code::kUnavailable);
  }
  EXPECT_GT(told, 0);
}

TEST_P(SimulatorTest, DrainAnswersWhatItTook) {
  SCOPED_TRACE(repeat_);
  Simulator server(sim_, Threaded());
  server.faults.seed = GetParam();
  server.faults.delay_max = absl::Microseconds(300);
  server.StartEngine();
  ClientRun::WriteShared(sim_, server);
  Clients clients(sim_, server, GetParam(), {.streams = 1 << 30, .cancel_one_in = 0, .outage = true}, 4);
  absl::SleepFor(absl::Milliseconds(20 + GetParam() % 50));
  EXPECT_TRUE(server.Drain(kPatience));
  EXPECT_EQ(server.gate().steps(), 0);
  std::map<Code, int> codes = clients.Join();
  EXPECT_GT(codes[Code::kOk], 0);
  server.sessions().ForgetClient(kSharedClient);
  EXPECT_EQ(server.Leftovers(kPatience), "");
}

TEST_P(SimulatorTest, DrainOutlivesItsGrace) {
  SCOPED_TRACE(repeat_);
  Simulator server(sim_, Threaded());
  server.faults.seed = GetParam();
  const std::shared_ptr<SimStream> stream = *server.Open();
  SendSteps(*stream, 3);
  const absl::Time give_up = absl::Now() + kPatience;
  while (server.gate().steps() < 3 && absl::Now() < give_up) absl::SleepFor(absl::Microseconds(100));
  EXPECT_FALSE(server.Drain(absl::Milliseconds(100)));  // no engine answers yet; by now the stream is told to end
  EXPECT_TRUE(HearsDrain(*stream));
  SendStep(*stream, 4);
  std::map<Code, int> refused;
  while (refused.empty() && absl::Now() < give_up) refused = LastFrames(*stream);
  EXPECT_EQ(refused, (std::map<Code, int>{{Code::kUnavailable, 1}}));
  server.StartEngine();
  EXPECT_TRUE(stream->WaitDone(kPatience));
  EXPECT_TRUE(absl::IsUnavailable(stream->status())) << stream->status();
  EXPECT_EQ(LastFrames(*stream), (std::map<Code, int>{{Code::kOk, 3}}));
  EXPECT_EQ(server.Leftovers(kPatience), "");
}

TEST_P(SimulatorTest, AClientThatDoesNotReadIsCappedAndHarmsNobody) {
  SCOPED_TRACE(repeat_);
  constexpr int kSteps = 5000;  // most are refused: few may be in flight
  Simulator server(sim_, Threaded());
  server.faults.seed = GetParam();
  server.StartEngine();
  const std::shared_ptr<SimStream> deaf = *server.Open({.never_reads = true});
  SendSteps(*deaf, kSteps);
  Clients(sim_, server, GetParam(), {.streams = 30, .private_only = true, .cancel_one_in = 0}, 2).Join();
  EXPECT_LE(server.scheduler().unsent_bytes(), 2 * Threaded().unsent_bytes_max);
  EXPECT_GT(deaf->unread(), size_t{kSteps} / 2);  // refusals that wait are bounded: the server reads no more
  deaf->Hold(false);
  deaf->HalfClose();
  EXPECT_TRUE(deaf->WaitDone(kPatience));
  std::map<Code, int> codes = LastFrames(*deaf);
  EXPECT_GT(codes[Code::kOk], 0);
  EXPECT_EQ(codes[Code::kOk] + codes[Code::kResourceExhausted], kSteps);
  EXPECT_EQ(server.Leftovers(kPatience), "");
}

INSTANTIATE_TEST_SUITE_P(Seeds, SimulatorTest, ::testing::ValuesIn(SimSeeds()));

}  // namespace
}  // namespace engram
