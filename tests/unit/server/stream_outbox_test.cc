#include "server/stream_outbox.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

namespace engram {
namespace {

class StreamOutboxTest : public ::testing::Test {
 protected:
  ReplyFrame FrameOf(uint64_t step_id, size_t payload, bool decode, bool last) {
    ReplyFrame frame;
    frame.head.set_step_id(step_id);
    frame.head.set_last(last);
    frame.decode = decode;
    if (payload > 0) frame.payload = arena_.Lease(payload, account_);
    return frame;
  }
  bool MayWait(size_t payload, bool decode, bool last) {
    outbox_.AddStep(next_, payload, 0);
    outbox_.PushFrame(FrameOf(next_++, payload, decode, last));
    const std::optional<OutMessage> message = outbox_.Take();
    EXPECT_TRUE(message.has_value());
    return message.has_value() && message->may_wait;
  }

  Arena arena_{1 << 20};
  const std::shared_ptr<ByteAccount> account_ = std::make_shared<ByteAccount>(std::make_shared<Doorbell>());
  StreamOutbox outbox_;
  uint64_t next_ = 1;
};

// A message that may wait for the next one in the transport: if none came, its rows would never arrive.
TEST_F(StreamOutboxTest, OnlySmallDecodeFramesThatOthersFollowMayWait) {
  EXPECT_TRUE(MayWait(6336, true, false));
  EXPECT_TRUE(MayWait(kWaitingPayloadMax, true, false));
  EXPECT_TRUE(MayWait(0, true, false));
  EXPECT_FALSE(MayWait(6336, true, true));
  EXPECT_FALSE(MayWait(kWaitingPayloadMax + 1, true, false));
  EXPECT_FALSE(MayWait(6336, false, false));
}

TEST_F(StreamOutboxTest, NeitherControlNorRefusalsWait) {
  v1::ServerMessage welcome;
  welcome.mutable_welcome();
  outbox_.PushControl(welcome);
  EXPECT_FALSE(outbox_.Take()->may_wait);
  outbox_.PushRefusal(FailedReply(1, 1, absl::InvalidArgumentError("no")));
  EXPECT_FALSE(outbox_.Take()->may_wait);
  EXPECT_TRUE(outbox_.idle());
}

TEST_F(StreamOutboxTest, ControlGoesFirstThenDecodeThenTheRest) {
  for (const uint64_t step : {1, 2}) outbox_.AddStep(step, 100, 0);
  outbox_.PushFrame(FrameOf(1, 100, false, true));
  outbox_.PushFrame(FrameOf(2, 50, true, true));
  v1::ServerMessage drain;
  drain.mutable_drain();
  outbox_.PushControl(drain);
  EXPECT_EQ(outbox_.Take()->payload.size(), 0u);
  EXPECT_EQ(outbox_.Take()->payload.size(), 50u);
  EXPECT_EQ(outbox_.Take()->payload.size(), 100u);
  EXPECT_FALSE(outbox_.Take().has_value());
}

// Rows that nobody wants any more, queued or not: results go out all the same, without a word of rows.
TEST_F(StreamOutboxTest, ResultsOfACancelledStepComeAlone) {
  const auto with_results = [this] {
    ReplyFrame frame = FrameOf(1, 100, true, false);
    frame.head.set_layer(14);
    frame.head.set_token_count(3);
    frame.head.add_row_index(0);
    frame.head.add_results()->set_length(3);
    return frame;
  };
  outbox_.AddStep(1, 300, 0);
  outbox_.PushFrame(with_results());
  outbox_.DropRows(1);
  outbox_.PushFrame(with_results());
  v1::ServerMessage expected;
  expected.mutable_reply()->set_step_id(1);
  expected.mutable_reply()->add_results()->set_length(3);
  for (int i = 0; i < 2; ++i) {
    const std::optional<OutMessage> message = outbox_.Take();
    ASSERT_TRUE(message.has_value());
    EXPECT_EQ(message->payload.size(), 0u);
    v1::ServerMessage sent;
    ASSERT_TRUE(sent.ParseFromString(message->head));
    EXPECT_EQ(sent.ShortDebugString(), expected.ShortDebugString());
  }
}

// A client that has read a last frame may send the next step at once.
TEST_F(StreamOutboxTest, AStepIsInFlightUntilItsLastFrameIsTaken) {
  outbox_.AddStep(1, 300, 7);
  outbox_.PushFrame(FrameOf(1, 100, true, false));
  outbox_.PushFrame(FrameOf(1, 100, true, true));
  EXPECT_EQ(outbox_.bytes_in_flight(), 300u);
  outbox_.Take();
  EXPECT_EQ(outbox_.bytes_in_flight(), 200u);
  EXPECT_EQ(outbox_.steps_in_flight(), 1u);
  EXPECT_EQ(outbox_.answer_bytes(), 7u);
  outbox_.Take();
  EXPECT_EQ(outbox_.bytes_in_flight(), 0u);  // what was owed and never came included
  EXPECT_EQ(outbox_.steps_in_flight(), 0u);
  EXPECT_EQ(outbox_.answer_bytes(), 0u);
}

}  // namespace
}  // namespace engram
