#include "server/reply_frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "server/answer_bytes.h"
#include "server/frame_plan.h"
#include "server/stream_outbox.h"

namespace engram {
namespace {

class ReplyFrameTest : public ::testing::Test {
 protected:
  ReplyFrame Make(uint64_t step_id, const std::string& payload, bool last = false, bool decode = false) {
    ReplyFrame frame;
    frame.head.set_step_id(step_id);
    frame.head.set_layer(14);
    frame.head.set_token_begin(1000);
    frame.head.set_token_count(3);
    frame.head.set_last(last);
    frame.decode = decode;
    if (payload.empty()) return frame;
    frame.payload = arena_.Lease(payload.size(), account_);
    std::memcpy(frame.payload.data(), payload.data(), payload.size());
    return frame;
  }

  static v1::StepReply Parse(const OutMessage& message) {
    std::string bytes = message.head;
    bytes.append(reinterpret_cast<const char*>(message.payload.data()), message.payload.size());
    v1::ServerMessage parsed;
    EXPECT_TRUE(parsed.ParseFromString(bytes));
    EXPECT_EQ(parsed.kind_case(), v1::ServerMessage::kReply);
    return parsed.reply();
  }

  std::shared_ptr<ByteAccount> account_ = std::make_shared<ByteAccount>(std::make_shared<Doorbell>());
  Arena arena_{1 << 20};
};

TEST_F(ReplyFrameTest, IsOrdinaryProtobufOnTheWire) {
  for (const size_t size : {0, 1, 127, 128, 16383, 16384, 1000000}) {
    std::string payload(size, '\0');
    for (size_t i = 0; i < size; ++i) payload[i] = static_cast<char>(i * 131);
    ReplyFrame frame = Make(77, payload, true);
    frame.head.add_results()->set_message("refused");
    OutMessage message{EncodeUpToPayload(frame), std::move(frame.payload)};
    const v1::StepReply reply = Parse(message);
    EXPECT_EQ(reply.rows(), payload);
    EXPECT_EQ(reply.step_id(), 77u);
    EXPECT_EQ(reply.layer(), 14u);
    EXPECT_EQ(reply.token_begin(), 1000u);
    EXPECT_TRUE(reply.last());
    EXPECT_EQ(reply.results(0).message(), "refused");
  }
}

TEST_F(ReplyFrameTest, HashIdsArePackedFixed64) {
  const uint64_t ids[] = {1, 384006167, ~uint64_t{0}};
  ReplyFrame frame = Make(5, std::string(reinterpret_cast<const char*>(ids), sizeof(ids)));
  frame.hash_ids = true;
  const v1::StepReply copied = CopyToMessage(frame);
  const v1::StepReply reply = Parse(OutMessage{EncodeUpToPayload(frame), std::move(frame.payload)});
  EXPECT_THAT(reply.hash_ids(), ::testing::ElementsAre(1, 384006167, ~uint64_t{0}));
  EXPECT_TRUE(reply.rows().empty());
  EXPECT_EQ(copied.SerializeAsString(), reply.SerializeAsString());
}

TEST_F(ReplyFrameTest, FieldsStayWithinTheirAllowance) {
  ReplyFrame frame = Make(~uint64_t{0}, std::string(70000, 'r'), true);
  frame.head.set_layer(~uint32_t{0});
  frame.head.set_token_begin(~uint64_t{0});
  frame.head.set_token_count(~uint64_t{0});
  frame.head.set_table_version(~uint64_t{0});
  frame.head.set_code(16);
  EXPECT_LE(EncodeUpToPayload(frame).size(), kFrameFieldsBytes);
}

TEST_F(ReplyFrameTest, LongMessagesAreCutBetweenCharacters) {
  std::string text;
  while (text.size() < kFrameMessageBytesMax - 1) text += "x";
  text += "\xC3\xA9 and more";
  const v1::StepReply reply = FailedReply(3, 9, absl::DataLossError(text));
  EXPECT_EQ(reply.message(), std::string(kFrameMessageBytesMax - 1, 'x'));
  EXPECT_EQ(reply.code(), static_cast<int>(absl::StatusCode::kDataLoss));
  EXPECT_TRUE(reply.last());
  EXPECT_EQ(reply.table_version(), 9u);
}

TEST_F(ReplyFrameTest, OutboxSendsControlThenDecodeThenTheRest) {
  StreamOutbox outbox;
  outbox.AddStep(1, 100, 7);
  outbox.AddStep(2, 10, 3);
  outbox.PushFrame(Make(1, std::string(60, 'a')));
  outbox.PushFrame(Make(1, std::string(40, 'b'), true));
  outbox.PushFrame(Make(2, std::string(10, 'c'), true, true));
  v1::ServerMessage drain;
  drain.mutable_drain()->set_message("soon");
  outbox.PushControl(drain);
  EXPECT_EQ(outbox.steps_in_flight(), 2u);
  EXPECT_EQ(outbox.bytes_in_flight(), 110u);
  EXPECT_EQ(outbox.answer_bytes(), 10u);

  v1::ServerMessage control;
  ASSERT_TRUE(control.ParseFromString(outbox.Take()->head));
  EXPECT_EQ(control.drain().message(), "soon");
  EXPECT_EQ(Parse(*outbox.Take()).step_id(), 2u);
  EXPECT_EQ(outbox.steps_in_flight(), 1u);
  EXPECT_EQ(Parse(*outbox.Take()).rows(), std::string(60, 'a'));
  EXPECT_EQ(outbox.bytes_in_flight(), 40u);
  EXPECT_EQ(outbox.answer_bytes(), 7u);  // until the last frame of its step
  EXPECT_FALSE(outbox.idle());
  EXPECT_EQ(Parse(*outbox.Take()).rows(), std::string(40, 'b'));
  EXPECT_TRUE(outbox.idle());
  EXPECT_EQ(outbox.bytes_in_flight(), 0u);
  EXPECT_EQ(outbox.answer_bytes(), 0u);
  EXPECT_FALSE(outbox.Take().has_value());
}

TEST_F(ReplyFrameTest, OutboxDropsRowsOfACancelledStep) {
  StreamOutbox outbox;
  outbox.AddStep(1, 500, 0);
  ReplyFrame first = Make(1, "rows");
  first.head.add_results()->set_session_id(8);
  outbox.PushFrame(std::move(first));
  outbox.PushFrame(Make(1, "more"));
  outbox.AddStep(2, 4, 0);
  outbox.PushFrame(Make(2, "kept", true));
  outbox.DropRows(1);
  const v1::StepReply results = Parse(*outbox.Take());
  EXPECT_EQ(results.results_size(), 1);
  EXPECT_EQ(results.token_count(), 0u);
  EXPECT_TRUE(results.rows().empty());
  EXPECT_EQ(Parse(*outbox.Take()).rows(), "kept");
  // The step still owes its end, and then nothing.
  EXPECT_EQ(outbox.steps_in_flight(), 1u);
  outbox.PushFrame(ReplyFrame{FailedReply(1, 1, absl::CancelledError("")), ArenaLease(), false, false});
  ASSERT_TRUE(outbox.Take().has_value());
  EXPECT_TRUE(outbox.idle());
  EXPECT_EQ(outbox.bytes_in_flight(), 0u);
}

TEST_F(ReplyFrameTest, RefusalsAreNotInFlight) {
  StreamOutbox outbox;
  outbox.PushRefusal(FailedReply(4, 1, absl::ResourceExhaustedError("full")));
  EXPECT_EQ(outbox.steps_in_flight(), 0u);
  EXPECT_EQ(outbox.answer_bytes(), kRefusalBytes + 4);
  EXPECT_EQ(Parse(*outbox.Take()).code(), static_cast<int>(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(outbox.answer_bytes(), 0u);
}

TEST_F(ReplyFrameTest, ArenaReusesBuffersAndAccountsForThem) {
  const std::byte* first = nullptr;
  {
    ArenaLease lease = arena_.Lease(5000, account_);
    first = lease.data();
    EXPECT_EQ(lease.size(), 5000u);
    EXPECT_EQ(account_->bytes(), 8192u);
    ArenaLease moved = std::move(lease);
    EXPECT_EQ(moved.data(), first);
    EXPECT_EQ(account_->bytes(), 8192u);
  }
  EXPECT_EQ(account_->bytes(), 0u);
  EXPECT_EQ(arena_.cached_bytes(), 8192u);
  EXPECT_EQ(arena_.Lease(8192, account_).data(), first);
  // What does not fit into the cache is given back to the system.
  { ArenaLease large = arena_.Lease(2 << 20, account_); }
  EXPECT_EQ(arena_.cached_bytes(), 8192u);
}

TEST_F(ReplyFrameTest, LeaseOutlivesItsArena) {
  ArenaLease lease;
  {
    Arena arena(1 << 20);
    lease = arena.Lease(100, account_);
  }
  std::memset(lease.data(), 1, lease.size());
  lease = ArenaLease();
  EXPECT_EQ(account_->bytes(), 0u);
}

}  // namespace
}  // namespace engram
