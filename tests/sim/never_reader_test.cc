// A client that never reads and whose segments are all refused: no rows, so no row buffer shows what it holds.

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/time/clock.h"
#include "server/answer_bytes.h"
#include "tests/sim/client_run.h"
#include "tests/sim/sim_seed.h"
#include "tests/sim/simulator.h"

namespace engram {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(60);
constexpr uint64_t kUnsentBytesMax = 20000;
constexpr int kSteps = 2000;

// Hello, then steps of segments that go on with unknown sessions.
void SendRefusedSegments(const SimModel& sim, SimStream& stream) {
  v1::ClientMessage message;
  message.mutable_hello();
  stream.Send(message);
  for (int id = 1; id <= kSteps; ++id) {
    v1::StepRequest& step = *message.mutable_step();
    step.Clear();
    step.set_step_id(static_cast<uint64_t>(id));
    for (uint32_t i = 0; i < sim.model.limits().segments_max(); ++i) {
      step.add_segments()->set_session_id(1000 + i);
      step.mutable_segments(static_cast<int>(i))->set_start_pos(7);
    }
    stream.Send(message);
  }
}

class NeverReader : public ::testing::TestWithParam<uint64_t> {
 protected:
  const SimModel sim_;
  const std::string repeat_ = SayHowToRepeat(GetParam());
};

TEST_P(NeverReader, HoldsNoMoreResultsThanRows) {
  SCOPED_TRACE(repeat_);
  SimOptions options;
  options.reaction_threads = 2;
  options.unsent_bytes_max = kUnsentBytesMax;
  Simulator server(sim_, options);
  server.faults.seed = GetParam();
  server.StartEngine();
  const std::shared_ptr<SimStream> deaf = *server.Open({.never_reads = true});
  SendRefusedSegments(sim_, *deaf);
  const absl::Time give_up = absl::Now() + kPatience;
  while (server.streams().answer_bytes() < kUnsentBytesMax && absl::Now() < give_up) {
    absl::SleepFor(absl::Microseconds(100));
  }
  ClientRun reader(sim_, server, GetParam(), {.streams = 30, .private_only = true, .cancel_one_in = 0});
  reader.Go();
  EXPECT_GE(deaf->call()->answer_bytes(), kUnsentBytesMax);
  EXPECT_LE(deaf->call()->answer_bytes(), AnswerBytesMax(kUnsentBytesMax, sim_.model.limits().segments_max()));
  EXPECT_GT(deaf->unread(), size_t{kSteps} / 2);
  deaf->Hold(false);
  deaf->HalfClose();
  ASSERT_TRUE(deaf->WaitDone(kPatience));
  EXPECT_TRUE(deaf->status().ok()) << deaf->status();
  int ended = 0;
  for (const v1::ServerMessage& message : deaf->Take()) ended += message.reply().last() ? 1 : 0;
  EXPECT_EQ(ended, kSteps);
  EXPECT_EQ(server.Leftovers(kPatience), "");
  EXPECT_EQ(server.streams().answer_bytes(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, NeverReader, ::testing::ValuesIn(SimSeeds()));

}  // namespace
}  // namespace engram
