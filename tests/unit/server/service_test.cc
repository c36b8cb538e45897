#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/server/service_fixture.h"

namespace engram {
namespace {

using ::testing::HasSubstr;

TEST(ServiceTest, StreamDeliversEveryByte) {
  TestServer server;
  server.Serve();
  const std::vector<uint32_t> tokens = SomeTokens(server, 300);
  TestStream stream(server);
  ASSERT_TRUE(stream.Hello());
  const v1::ServerMessage welcome = stream.Next();
  EXPECT_EQ(welcome.welcome().model().SerializeAsString(), server.model().SerializeAsString());
  EXPECT_EQ(welcome.welcome().steps_in_flight_max(), 64u);
  uint64_t step_id = 5;
  for (const auto format : {v1::ROW_FORMAT_PACKED, v1::ROW_FORMAT_BF16, v1::ROW_FORMAT_HASH_IDS}) {
    ASSERT_TRUE(stream.Step(step_id, tokens, format));
    const auto frames = stream.FramesOf(step_id);
    ASSERT_FALSE(frames.empty());
    EXPECT_EQ(frames.back().code(), 0) << frames.back().message();
    EXPECT_EQ(frames[0].results(0).length(), 300u);
    EXPECT_EQ(PayloadOf(frames), server.ExpectedRows(tokens, format)) << v1::RowFormat_Name(format);
    step_id += 3;
  }
  stream.HalfClose();
  EXPECT_TRUE(stream.Finish().ok());
}

TEST(ServiceTest, FramesStayUnderTheirBound) {
  TestServer server(
      {"streams.frame_bytes_max=65536", "streams.unsent_bytes_max=65536", "scheduling.round_bytes_max=65536"});
  server.Serve();
  const std::vector<uint32_t> tokens = SomeTokens(server, 3000);
  TestStream stream(server);
  ASSERT_TRUE(stream.Hello());
  ASSERT_TRUE(stream.Step(1, tokens));
  const auto frames = stream.FramesOf(1);
  EXPECT_EQ(PayloadOf(frames), server.ExpectedRows(tokens, v1::ROW_FORMAT_PACKED));
  EXPECT_GT(frames.size(), 2u);
  for (const v1::StepReply& frame : frames) {
    v1::ServerMessage message;
    *message.mutable_reply() = frame;
    EXPECT_LE(message.ByteSizeLong(), 65536u);
  }
}

TEST(ServiceTest, HelloComesFirstAndOnce) {
  TestServer server;
  server.Serve();
  {
    TestStream stream(server);
    ASSERT_TRUE(stream.Step(1, {1}));
    const grpc::Status status = stream.Finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(status.error_message(), HasSubstr("hello"));
  }
  {
    TestStream stream(server);
    ASSERT_TRUE(stream.Hello());
    ASSERT_TRUE(stream.Hello());
    EXPECT_EQ(stream.Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  }
  {
    TestStream stream(server);
    v1::ClientMessage message;
    message.mutable_hello()->set_model_digest(std::string(32, 'x'));
    ASSERT_TRUE(stream.Send(message));
    EXPECT_EQ(stream.Finish().error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  }
  {
    TestStream stream(server);
    ASSERT_TRUE(stream.Send(v1::ClientMessage()));  // no kind
    EXPECT_EQ(stream.Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  }
}

TEST(ServiceTest, StepIdMustGrow) {
  TestServer server;
  server.Serve();
  TestStream stream(server);
  ASSERT_TRUE(stream.Hello());
  ASSERT_TRUE(stream.Step(0, {1}));
  ASSERT_TRUE(stream.Step(7, {1}));
  EXPECT_EQ(stream.FramesOf(7).back().code(), 0);
  ASSERT_TRUE(stream.Step(7, {1}));
  const grpc::Status status = stream.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("step_id 7"));
}

TEST(ServiceTest, ARefusedStepIsItsOwnAffair) {
  TestServer server;
  server.Serve();
  TestStream stream(server);
  ASSERT_TRUE(stream.Hello());
  v1::ClientMessage message;
  message.mutable_step()->set_step_id(1);
  message.mutable_step()->add_layers(99);
  ASSERT_TRUE(stream.Send(message));
  const auto refused = stream.FramesOf(1);
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].code(), static_cast<int>(absl::StatusCode::kInvalidArgument));
  // A segment alone as well: the other one has its rows.
  const std::vector<uint32_t> tokens = SomeTokens(server, 4);
  v1::StepRequest& step = *message.mutable_step();
  step.clear_layers();
  step.set_step_id(2);
  step.add_segments()->add_token_ids(server.checkpoint().geometry.vocab_size);
  for (const uint32_t token : tokens) {
    if (step.segments_size() < 2) step.add_segments();
    step.mutable_segments(1)->add_token_ids(token);
  }
  ASSERT_TRUE(stream.Send(message));
  const auto frames = stream.FramesOf(2);
  EXPECT_EQ(frames.back().code(), 0);
  EXPECT_EQ(frames[0].results(0).code(), static_cast<int>(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(frames[0].results(1).code(), 0);
  EXPECT_EQ(frames[0].token_begin(), 1u);
  EXPECT_EQ(PayloadOf(frames), server.ExpectedRows(tokens, v1::ROW_FORMAT_PACKED));
}

TEST(ServiceTest, LoadingAnswersUnavailable) {
  TestServer server;
  TestStream stream(server);
  ASSERT_TRUE(stream.Hello());
  ASSERT_TRUE(stream.Step(1, {1}));
  const auto frames = stream.FramesOf(1);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].code(), static_cast<int>(absl::StatusCode::kUnavailable));
  EXPECT_EQ(frames[0].message(), "loading 42%");
  server.Serve();
  ASSERT_TRUE(stream.Step(2, {1}));
  EXPECT_EQ(stream.FramesOf(2).back().code(), 0);
}

TEST(ServiceTest, StepsInFlightAreBounded) {
  TestServer server({"streams.steps_in_flight_max=2"});
  server.OpenGate();
  TestStream stream(server);
  ASSERT_TRUE(stream.Hello());
  for (const uint64_t step_id : {1, 2, 3}) ASSERT_TRUE(stream.Step(step_id, {1, 2, 3}));
  const auto refused = stream.FramesOf(3);
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].code(), static_cast<int>(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(refused[0].message(), HasSubstr("steps_in_flight_max"));
  server.Serve();
  EXPECT_EQ(stream.FramesOf(1).back().code(), 0);
  EXPECT_EQ(stream.FramesOf(2).back().code(), 0);
  ASSERT_TRUE(stream.Step(4, {1}));
  EXPECT_EQ(stream.FramesOf(4).back().code(), 0);
}

TEST(ServiceTest, CancelAndTimeout) {
  TestServer server;
  server.OpenGate();
  TestStream stream(server);
  ASSERT_TRUE(stream.Hello());
  ASSERT_TRUE(stream.Step(1, {1, 2}));
  ASSERT_TRUE(stream.Step(2, {1, 2}, v1::ROW_FORMAT_PACKED, 1));
  ASSERT_TRUE(stream.Step(3, {1, 2}));
  ASSERT_TRUE(stream.Cancel(1));
  ASSERT_TRUE(stream.Cancel(77));
  // Answered after the cancel was read, as reading goes in order.
  ASSERT_TRUE(stream.Step(4, {1}, static_cast<v1::RowFormat>(9)));
  EXPECT_NE(stream.FramesOf(4).back().code(), 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  server.Serve();
  EXPECT_EQ(stream.FramesOf(1).back().code(), static_cast<int>(absl::StatusCode::kCancelled));
  EXPECT_EQ(stream.FramesOf(2).back().code(), static_cast<int>(absl::StatusCode::kDeadlineExceeded));
  EXPECT_EQ(stream.FramesOf(3).back().code(), 0);
  EXPECT_EQ(PayloadOf(stream.FramesOf(1)), "");
}

TEST(ServiceTest, HalfCloseWaitsForEveryAnswer) {
  TestServer server;
  server.OpenGate();
  TestStream stream(server);
  ASSERT_TRUE(stream.Hello());
  for (uint64_t step_id = 1; step_id <= 20; ++step_id) ASSERT_TRUE(stream.Step(step_id, {1, 2, 3}));
  stream.HalfClose();
  server.Serve();
  for (uint64_t step_id = 1; step_id <= 20; ++step_id) {
    const auto frames = stream.FramesOf(step_id);
    ASSERT_FALSE(frames.empty());
    EXPECT_EQ(frames.back().code(), 0);
  }
  EXPECT_TRUE(stream.Finish().ok());
}

TEST(ServiceTest, CancelledCallsLeaveNothingBehind) {
  TestServer server({"streams.unsent_bytes_max=1048576"});
  server.Serve();
  for (int i = 0; i < 30; ++i) {
    TestStream stream(server);
    ASSERT_TRUE(stream.Hello());
    v1::ClientMessage message;
    message.mutable_step()->set_step_id(1);
    message.mutable_step()->add_segments()->set_session_id(9);
    for (int t = 0; t < 2000; ++t) message.mutable_step()->mutable_segments(0)->add_token_ids(1);
    ASSERT_TRUE(stream.Send(message));
    if (i % 3 == 0) stream.Next();
    stream.TryCancel();
    EXPECT_EQ(stream.Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  EXPECT_TRUE(server.grpc().Drain("test over", absl::Seconds(20)));
  const absl::Time give_up = absl::Now() + absl::Seconds(20);
  while (server.gate().steps() > 0 && absl::Now() < give_up) absl::SleepFor(absl::Milliseconds(1));
  EXPECT_EQ(server.gate().steps(), 0);
  EXPECT_EQ(server.sessions().sessions(), 0u);  // they were private
}

TEST(ServiceTest, StreamsAreBounded) {
  TestServer server({"streams.streams_max=1"});
  server.Serve();
  TestStream first(server);
  ASSERT_TRUE(first.Hello());
  EXPECT_TRUE(first.Next().has_welcome());
  TestStream second(server);
  second.Hello();
  const grpc::Status status = second.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("streams_max = 1"));
}

TEST(ServiceTest, DrainAnswersWhatItTook) {
  TestServer server;
  server.OpenGate();
  TestStream stream(server);
  TestStream polite(server);
  ASSERT_TRUE(stream.Hello());
  ASSERT_TRUE(polite.Hello());
  EXPECT_TRUE(polite.Next().has_welcome());
  EXPECT_TRUE(stream.Next().has_welcome());
  ASSERT_TRUE(stream.Step(1, {1, 2, 3}));
  const absl::Time give_up = absl::Now() + absl::Seconds(20);
  while (server.gate().steps() == 0 && absl::Now() < give_up) absl::SleepFor(absl::Milliseconds(1));
  server.gate().Close(absl::UnavailableError("draining"));
  std::thread drain([&] { EXPECT_TRUE(server.grpc().Drain("draining", absl::Seconds(20))); });
  EXPECT_EQ(stream.Next().drain().message(), "draining");
  EXPECT_EQ(polite.Next().drain().message(), "draining");
  polite.HalfClose();
  EXPECT_TRUE(polite.Finish().ok());
  ASSERT_TRUE(stream.Step(2, {1}));
  EXPECT_EQ(stream.FramesOf(2).back().code(), static_cast<int>(absl::StatusCode::kUnavailable));
  TestStream late(server);
  EXPECT_EQ(late.Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  server.Serve();
  EXPECT_EQ(stream.FramesOf(1).back().code(), 0);
  EXPECT_EQ(stream.Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  drain.join();
}

}  // namespace
}  // namespace engram
