// What a stream may hold whose answers are not read, and what is refused before it is decoded.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/answer_bytes.h"
#include "tests/unit/server/stream_bounds.h"

namespace engram {
namespace {

using ::testing::HasSubstr;

TEST_F(StreamBounds, ResultsThatAreNotReadStopTheReading) {
  StreamRegistry registry(2);
  Wire wire;
  const auto call = std::make_shared<StreamCall>(context_, registry, wire);
  ASSERT_TRUE(registry.Add(call).ok());
  SendHello(*call, wire);
  uint64_t steps = 0;
  while (wire.reading && steps < 1000) {
    Send(*call, wire, RefusedSegments(++steps, 50));
    Round();
    ASSERT_LE(call->answer_bytes(), AnswerBytesMax(kUnsentBytesMax, 50));
  }
  EXPECT_LT(steps, 10u);
  EXPECT_GE(call->answer_bytes(), kUnsentBytesMax);
  EXPECT_EQ(registry.answer_bytes(), call->answer_bytes());
  ReadAll(*call, wire);
  EXPECT_TRUE(wire.reading) << "read on once they have left";
  EXPECT_EQ(call->answer_bytes(), 0u);
  uint64_t last = 0;
  for (const v1::ServerMessage& message : wire.received) last += message.reply().last() ? 1 : 0;
  EXPECT_EQ(last, steps);
  call->OnHalfClose();
  EXPECT_TRUE(wire.end.has_value() && wire.end->ok());
  call->OnDone();
  EXPECT_EQ(registry.answer_bytes(), 0u);
}

TEST_F(StreamBounds, RefusalsThatAreNotReadStopTheReading) {
  StreamRegistry registry(2);
  Wire wire;
  const auto call = std::make_shared<StreamCall>(context_, registry, wire);
  ASSERT_TRUE(registry.Add(call).ok());
  SendHello(*call, wire);
  v1::ClientMessage bad;
  bad.mutable_step()->add_layers(99);
  uint64_t steps = 0;
  while (wire.reading && steps < 1000) {
    bad.mutable_step()->set_step_id(++steps);
    Send(*call, wire, bad);
  }
  EXPECT_LT(steps, 200u);
  ReadAll(*call, wire);
  EXPECT_TRUE(wire.reading);
  EXPECT_EQ(call->answer_bytes(), 0u);
  call->OnCancel();
  call->OnDone();
}

TEST_F(StreamBounds, TooManySegmentsAreRefusedByTheirCount) {
  StreamRegistry registry(2);
  Wire wire;
  const auto call = std::make_shared<StreamCall>(context_, registry, wire);
  ASSERT_TRUE(registry.Add(call).ok());
  SendHello(*call, wire);
  // Undecodable besides: a client_id that is no UTF-8. Nobody gets so far.
  v1::ClientMessage message = RefusedSegments(7, 50);
  const std::string many =
      absl::StrCat(message.SerializeAsString(), std::string("\x12\x07\x12\x05\x3a\x03\x1a\x01\xff", 9));
  ASSERT_FALSE(message.ParseFromString(many));
  Send(*call, wire, many);
  ReadAll(*call, wire);
  const v1::StepReply& reply = wire.received.back().reply();
  EXPECT_EQ(reply.step_id(), 7u);
  EXPECT_TRUE(reply.last());
  EXPECT_EQ(reply.code(), static_cast<int>(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(reply.message(), "segments: 51 of them: segments_max is 50");
  Send(*call, wire, RefusedSegments(7, 51));
  ASSERT_TRUE(wire.end.has_value()) << "its step_id counts";
  EXPECT_THAT(std::string(wire.end->message()), HasSubstr("step_id 7: must be greater"));
  call->OnDone();
}

}  // namespace
}  // namespace engram
