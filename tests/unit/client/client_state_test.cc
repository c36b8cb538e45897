// Sessions opened by the state that another server exported, while fewer tokens than a look-back have followed it.

#include <gmock/gmock.h>

#include "tests/unit/client/resume_fixture.h"

namespace engram {
namespace {

using testing::HasSubstr;

// Positions 0 to 4 are known to `sequence_` and, as a state, to the sessions.
class ClientStateTest : public testing::Test {
 protected:
  void SetUp() override {
    client_ = *Client::Create(OptionsFor({server_.address()}));
    TrackedStep prefill = HashStep();
    prefill.request.set_return_states(true);
    TrackedSession(7).Append(prefill, {1, 2, 3, 4, 5});
    StepResult exported = client_->Run(std::move(prefill));
    ASSERT_TRUE(exported.status.ok()) << exported.status;
    state_ = exported.segments[0].state();
    sequence_.Append({1, 2, 3, 4, 5});
  }

  TrackedSession Imported(uint64_t session_id) const {
    TrackedSession session(session_id);
    session.Seed(state_);
    return session;
  }

  void Restart() {
    server_.Kill();
    server_.Start();
  }

  StepFuture Submit(TrackedSession& session, const std::vector<uint32_t>& tokens) {
    TrackedStep step = HashStep();
    session.Append(step, tokens);
    return *client_->Submit(std::move(step));
  }
  // The rows of the tokens from `begin` to the end of `sequence`, and no others.
  void Check(StepFuture future, const Sequence& sequence, uint64_t begin) {
    const StepResult result = future.Wait();
    ASSERT_TRUE(result.status.ok()) << result.status;
    ASSERT_TRUE(result.segment_status(0).ok()) << result.segment_status(0);
    EXPECT_EQ(result.segments[0].length(), sequence.length());
    for (const LayerRows& layer : result.layers) EXPECT_EQ(layer.tokens(), sequence.length() - begin);
    EXPECT_EQ(RowIdsOf(checkpoint_.geometry, result, 0, sequence.length() - begin), sequence.RowIds(begin));
  }

  const Checkpoint checkpoint_ = OpenTiny();
  KillableServer server_;
  std::unique_ptr<Client> client_;
  v1::HashState state_;
  Sequence sequence_{checkpoint_};
};

TEST_F(ClientStateTest, DecodesWithoutWaiting) {
  TrackedSession session = Imported(9);
  std::vector<StepFuture> steps;
  std::vector<Sequence> sequences;
  for (uint32_t i = 0; i < 6; ++i) {
    sequence_.Append({6 + i});
    sequences.push_back(sequence_);
    steps.push_back(Submit(session, {6 + i}));
  }
  for (size_t i = 0; i < steps.size(); ++i) Check(std::move(steps[i]), sequences[i], 5 + i);
}

TEST_F(ClientStateTest, ForksAndRewindsAnywhereBehindTheState) {
  TrackedSession session = Imported(9);
  EXPECT_EQ(session.reach(), 5u);
  Sequence whole = sequence_;
  whole.Append({6, 7, 8, 9});
  Check(Submit(session, {6, 7, 8, 9}), whole, 5);
  for (uint64_t position = 5; position <= 9; ++position) {
    Sequence branch = whole;
    branch.RewindTo(position);
    branch.Append({50});
    absl::StatusOr<TrackedSession> fork = session.Fork(10 + position, position);
    ASSERT_TRUE(fork.ok()) << fork.status();
    Check(Submit(*fork, {50}), branch, position);
    Restart();
    TrackedSession rewound = session;
    ASSERT_TRUE(rewound.RewindTo(position).ok());
    Check(Submit(rewound, {50}), branch, position);
  }
  EXPECT_EQ(session.Fork(20, 4).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(session.RewindTo(4).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(ClientStateTest, ReplaysAmongOtherSegments) {
  TrackedSession first = Imported(9);
  TrackedSession second = Imported(10);
  TrackedSession plain(11);
  TrackedStep step = HashStep();
  first.Append(step, {6}, {0});  // masked: so must the replay be
  second.Append(step, {7, 8});
  ASSERT_TRUE(client_->Run(std::move(step)).status.ok());
  Restart();
  step = HashStep();
  plain.Append(step, {1, 2});
  first.Append(step, {60, 61});
  second.Append(step, {}, {});
  TrackedSession third = Imported(12);
  third.Append(step, {13});
  const StepResult result = client_->Run(std::move(step));
  ASSERT_TRUE(result.status.ok()) << result.status;
  for (size_t i = 0; i < 4; ++i) EXPECT_TRUE(result.segment_status(i).ok()) << result.segment_status(i);
  Sequence alone(checkpoint_);
  alone.Append({1, 2});
  Sequence masked = sequence_;
  masked.Append({6, 60, 61}, {0, 1, 1});
  Sequence imported = sequence_;
  imported.Append({13});
  EXPECT_EQ(RowIdsOf(checkpoint_.geometry, result, 0, 2), alone.RowIds(0));
  EXPECT_EQ(RowIdsOf(checkpoint_.geometry, result, 2, 2), masked.RowIds(6));
  EXPECT_EQ(RowIdsOf(checkpoint_.geometry, result, 4, 1), imported.RowIds(5));
  for (const LayerRows& layer : result.layers) EXPECT_EQ(layer.tokens(), 5u);
}

TEST_F(ClientStateTest, SaysWhatIsMissingForAModelThatLooksFurtherBack) {
  TrackedSession session(9, {.lookback = 2});  // the model's is 3
  TrackedSession other(10);
  TrackedStep step = HashStep();
  session.Append(step, {1, 2, 3, 4, 5});
  ASSERT_TRUE(client_->Run(std::move(step)).status.ok());
  Restart();
  step = HashStep();
  session.Append(step, {6});
  other.Append(step, {1});
  const StepResult result = client_->Run(std::move(step));
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(result.segment_status(0),
            absl::FailedPreconditionError(
                "session 9 at position 5: the server may not know it, and 2 of the 3 tokens before it are kept: "
                "TrackedSessionOptions.lookback must be at least 3 for this model"));
  EXPECT_TRUE(result.segment_status(1).ok()) << result.segment_status(1);
}

// Its own connection before last, to the server, is another stream: the session is free once the server notices its
// end.
TEST_F(ClientStateTest, WaitsUntilTheServerNoticesThatItsOldStreamIsGone) {
  server_.Kill();
  server_.StartStalled();
  TestStream old(server_.server());
  ASSERT_TRUE(old.Hello("shared"));
  v1::ClientMessage message;
  message.mutable_step()->set_step_id(1);
  message.mutable_step()->add_segments()->set_session_id(9);
  message.mutable_step()->mutable_segments(0)->add_token_ids(1);
  ASSERT_TRUE(old.Send(message));
  ASSERT_TRUE(server_.AwaitSteps(1));
  ClientOptions options = OptionsFor({server_.address()});
  options.client_id = "shared";
  const auto client = *Client::Create(options);
  TrackedSession session(9);
  TrackedStep step = HashStep();
  session.Append(step, {1, 2, 3});
  absl::StatusOr<StepFuture> waits = client->Submit(std::move(step));
  step = HashStep();
  TrackedSession(10).Append(step, {1});
  absl::StatusOr<StepFuture> other = client->Submit(std::move(step));
  ASSERT_TRUE(server_.AwaitSteps(3)) << "one of them to be refused once the engine runs";
  old.TryCancel();
  server_.server().Serve();
  Sequence sequence(checkpoint_);
  sequence.Append({1, 2, 3});
  Check(*std::move(waits), sequence, 0);
  EXPECT_TRUE(other->Wait().status.ok());
}

}  // namespace
}  // namespace engram
