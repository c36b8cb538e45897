// The client against real servers that die: every step is answered once, with the row ids of the unsplit sequence.

#include "tests/unit/client/resume_fixture.h"

namespace engram {
namespace {

class ClientResumeTest : public testing::Test {
 protected:
  // Appends to session and oracle alike, and checks the row ids that come back.
  void Check(Client& client, TrackedSession& session, Sequence& sequence, const std::vector<uint32_t>& tokens) {
    TrackedStep step = HashStep();
    const uint64_t start = session.Append(step, tokens);
    sequence.Append(tokens);
    const StepResult result = client.Run(std::move(step));
    ASSERT_TRUE(result.status.ok()) << result.status;
    ASSERT_TRUE(result.segment_status(0).ok()) << result.segment_status(0);
    EXPECT_EQ(RowIdsOf(checkpoint_.geometry, result, 0, tokens.size()), sequence.RowIds(start));
  }

  const Checkpoint checkpoint_ = OpenTiny();
  Sequence sequence_{checkpoint_};
  TrackedSession session_{7};
};

TEST_F(ClientResumeTest, GoesOnWhereItWasAfterARestart) {
  KillableServer server;
  const auto client = *Client::Create(OptionsFor({server.address()}));
  Check(*client, session_, sequence_, {1, 2, 3, 4, 5});
  server.Kill();
  server.Start();
  Check(*client, session_, sequence_, {6});
  Check(*client, session_, sequence_, {7, 8});
}

TEST_F(ClientResumeTest, AnswersEveryStepThatWasInFlightOnce) {
  KillableServer server;
  server.Kill();
  server.StartStalled();
  std::vector<StepFuture> steps;
  std::vector<std::vector<std::vector<uint64_t>>> expected;
  const auto client = *Client::Create(OptionsFor({server.address()}));
  for (uint32_t i = 0; i < 20; ++i) {
    TrackedStep step = HashStep();
    if (i % 5 == 4) {  // overwrites what a step in flight has written
      ASSERT_TRUE(session_.RewindTo(session_.position() - 2).ok());
      sequence_.RewindTo(session_.position());
    }
    const uint64_t start = session_.Append(step, {i, i + 1, i + 2});
    sequence_.Append({i, i + 1, i + 2});
    expected.push_back(sequence_.RowIds(start));
    steps.push_back(*client->Submit(std::move(step)));
  }
  EXPECT_TRUE(server.AwaitSteps(20)) << "all are admitted and none is answered";
  server.Kill();
  server.Start();
  for (size_t i = 0; i < steps.size(); ++i) {
    const StepResult result = steps[i].Wait();
    ASSERT_TRUE(result.status.ok()) << result.status;
    EXPECT_EQ(RowIdsOf(checkpoint_.geometry, result, 0, 3), expected[i]) << "step " << i;
  }
  Check(*client, session_, sequence_, {9, 9});
}

TEST_F(ClientResumeTest, TakesSessionsToAnotherServer) {
  KillableServer first;
  KillableServer second;
  const auto client = *Client::Create(OptionsFor({first.address(), second.address()}));
  Check(*client, session_, sequence_, {1, 2, 3, 4, 5});
  first.Kill();
  Check(*client, session_, sequence_, {6});
}

TEST_F(ClientResumeTest, LeavesADrainingServer) {
  KillableServer first;
  KillableServer second;
  const auto client = *Client::Create(OptionsFor({first.address(), second.address()}));
  Check(*client, session_, sequence_, {1, 2, 3, 4, 5});
  first.server().gate().Close(absl::UnavailableError("draining"));
  EXPECT_TRUE(first.server().grpc().Drain("test", absl::Seconds(60))) << "the client has left by then";
  Check(*client, session_, sequence_, {6});
  EXPECT_EQ(second.server().sessions().sessions(), 1u);
}

TEST_F(ClientResumeTest, RewindsDeepAfterAReconnect) {
  KillableServer server;
  const auto client = *Client::Create(OptionsFor({server.address()}));
  for (uint32_t i = 0; i < 10; ++i) Check(*client, session_, sequence_, {i, i + 1, i + 2});
  server.Kill();
  server.Start();
  Check(*client, session_, sequence_, {1});  // the new server knows three positions before it
  ASSERT_TRUE(session_.RewindTo(12).ok());
  sequence_.RewindTo(12);
  Check(*client, session_, sequence_, {9, 8, 7, 6});
}

TEST_F(ClientResumeTest, ForksOfSessionsThatTheServerHasLost) {
  KillableServer server;
  const auto client = *Client::Create(OptionsFor({server.address()}));
  Check(*client, session_, sequence_, {1, 2, 3, 4, 5, 6});
  server.Kill();
  server.Start();
  absl::StatusOr<TrackedSession> fork = session_.Fork(8, 4);
  ASSERT_TRUE(fork.ok());
  Sequence forked = sequence_;
  forked.RewindTo(4);
  Check(*client, *fork, forked, {9, 9, 9});
  Check(*client, session_, sequence_, {7});
}

TEST_F(ClientResumeTest, BringsEvictedSessionsBack) {
  KillableServer server({"sessions.sessions_max=2", "sessions.client_share_percent=100"});
  const auto client = *Client::Create(OptionsFor({server.address()}));
  std::vector<TrackedSession> sessions;
  std::vector<Sequence> sequences;
  for (uint64_t id = 1; id <= 5; ++id) {
    sessions.emplace_back(id);
    sequences.emplace_back(checkpoint_);
  }
  for (uint32_t round = 0; round < 4; ++round) {
    for (size_t i = 0; i < sessions.size(); ++i) Check(*client, sessions[i], sequences[i], {round, 5, 6, 7});
  }
  EXPECT_EQ(server.server().sessions().sessions(), 2u);
}

TEST_F(ClientResumeTest, NeverBuildsOnASegmentThatWasRefused) {
  KillableServer server;
  const auto client = *Client::Create(OptionsFor({server.address()}));
  Check(*client, session_, sequence_, {1, 2, 3, 4, 5, 6, 7, 8});
  // Overwrites positions 2 and 3 with a token that is none: refused, the server keeps what it had there. The next step
  // is under way before that is known.
  ASSERT_TRUE(session_.RewindTo(2).ok());
  TrackedStep bad = HashStep();
  session_.Append(bad, {1000000, 9}, {1, 1});
  TrackedStep next = HashStep();
  session_.Append(next, {10, 11});
  absl::StatusOr<StepFuture> refused = client->Submit(std::move(bad));
  absl::StatusOr<StepFuture> after = client->Submit(std::move(next));
  EXPECT_EQ(refused->Wait().segment_status(0).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(after->Wait().segment_status(0).code(), absl::StatusCode::kInvalidArgument)
      << "its look-back has the token";
  ASSERT_TRUE(session_.RewindTo(2).ok());
  sequence_.RewindTo(2);
  Check(*client, session_, sequence_, {12, 13});
}

TEST_F(ClientResumeTest, NeverBuildsOnASegmentThatWasNeverSent) {
  KillableServer server({"streams.steps_in_flight_max=1"});
  const auto client = *Client::Create(OptionsFor({server.address()}));
  Check(*client, session_, sequence_, {1, 2, 3, 4, 5, 6, 7, 8});
  for (uint32_t round = 0; round < 50; ++round) {
    TrackedStep first = HashStep();
    TrackedSession(8).Append(first, std::vector<uint32_t>(100, 1));
    absl::StatusOr<StepFuture> occupies = client->Submit(std::move(first));
    // Overwrites positions 2 and 3, behind a step that takes all the room there is, and most likely never leaves.
    ASSERT_TRUE(session_.RewindTo(2).ok());
    sequence_.RewindTo(2);
    TrackedStep cancelled = HashStep();
    session_.Append(cancelled, {round, round + 1});
    sequence_.Append({round, round + 1});
    absl::StatusOr<StepFuture> waits = client->Submit(std::move(cancelled));
    waits->Cancel();
    EXPECT_TRUE(occupies->Wait().status.ok());
    Check(*client, session_, sequence_, {9, 9, 9, 9});
  }
}

}  // namespace
}  // namespace engram
