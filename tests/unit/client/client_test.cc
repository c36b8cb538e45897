// Steps of the client that reconnects: deadlines, cancels, callbacks, bounds, destruction.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "absl/synchronization/notification.h"
#include "tests/unit/client/client_fixture.h"

namespace engram {
namespace {

using testing::HasSubstr;

TEST(ClientTest, ChecksItsOptions) {
  EXPECT_EQ(Client::Create({}).status().code(), absl::StatusCode::kInvalidArgument);
  ClientOptions options = OptionsFor({kNobody});
  options.backoff.multiplier = 0.5;
  EXPECT_THAT(Client::Create(options).status().message(), HasSubstr("backoff"));
  options = OptionsFor({kNobody, ""});
  EXPECT_THAT(Client::Create(options).status().message(), HasSubstr("addresses"));
}

TEST(ClientTest, DeadlinePassesWithoutAServer) {
  const auto client = ClientOf(OptionsFor({kNobody}));
  const StepResult result = client->Run(EmptyStep(), {.timeout = absl::Milliseconds(20)});
  EXPECT_EQ(result.status, absl::DeadlineExceededError("not finished within 20ms"));
  EXPECT_EQ(client->AwaitModel(absl::Milliseconds(1)).status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(client->status().code(), absl::StatusCode::kUnavailable);
}

TEST(ClientTest, DeadlinePassesWhateverTheServerDoesAndIsToldToIt) {
  std::atomic<uint32_t> timeout_ms{0};
  absl::Notification cancelled;
  FakeServer server([&](FakeStream& stream) {
    const v1::StepRequest step = ReadStep(stream);
    timeout_ms = step.timeout_ms();
    v1::ClientMessage message;
    if (stream.Read(&message) && message.cancel().step_id() == step.step_id()) cancelled.Notify();
    return NeverAnswer(stream);
  });
  const auto client = ClientOf(OptionsFor({server.address()}));
  ASSERT_TRUE(client->AwaitModel(absl::Seconds(30)).ok());
  const StepResult result = client->Run(EmptyStep(), {.timeout = absl::Milliseconds(300)});
  EXPECT_EQ(result.status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(cancelled.WaitForNotificationWithTimeout(absl::Seconds(30)));
  EXPECT_GE(timeout_ms, 1u);
  EXPECT_LE(timeout_ms, 300u);
}

TEST(ClientTest, CancelsInEveryPhase) {
  absl::Notification read;
  FakeServer server([&](FakeStream& stream) {
    const v1::StepRequest first = ReadStep(stream);
    read.Notify();
    v1::ClientMessage message;
    EXPECT_TRUE(stream.Read(&message));
    EXPECT_EQ(message.cancel().step_id(), first.step_id());
    Answer(stream, first, grpc::StatusCode::CANCELLED, "by the client");
    return AnswerAll(stream);
  });
  auto unconnected = ClientOf(OptionsFor({kNobody}));
  absl::StatusOr<StepFuture> queued = unconnected->Submit(EmptyStep());
  ASSERT_TRUE(queued.ok());
  EXPECT_FALSE(queued->WaitFor(absl::ZeroDuration()));
  queued->Cancel();
  EXPECT_EQ(queued->Wait().status, absl::CancelledError("cancelled by the caller"));

  auto client = ClientOf(OptionsFor({server.address()}));
  absl::StatusOr<StepFuture> flying = client->Submit(EmptyStep());
  read.WaitForNotification();
  flying->Cancel();
  EXPECT_EQ(flying->Wait().status.code(), absl::StatusCode::kCancelled);

  absl::StatusOr<StepFuture> finished = client->Submit(EmptyStep());
  ASSERT_TRUE(finished->WaitFor(absl::Seconds(30)));
  finished->Cancel();
  EXPECT_TRUE(finished->Wait().status.ok()) << "it had finished first";

  absl::StatusOr<StepFuture> orphan = unconnected->Submit(EmptyStep());
  unconnected.reset();
  orphan->Cancel();
  EXPECT_EQ(orphan->Wait().status, absl::CancelledError("the client was destroyed"));
}

TEST(ClientTest, CallsBackOnceAndTakesStepsFromWithin) {
  FakeServer server(AnswerAll);
  absl::Notification done;
  std::atomic<int> calls{0};
  const auto client = ClientOf(OptionsFor({server.address()}));
  const std::function<void(StepResult)> next = [&](StepResult result) {
    EXPECT_TRUE(result.status.ok()) << result.status;
    if (++calls == 100) return done.Notify();
    EXPECT_TRUE(client->Submit(EmptyStep(), next).ok());
  };
  ASSERT_TRUE(client->Submit(EmptyStep(), next).ok());
  ASSERT_TRUE(done.WaitForNotificationWithTimeout(absl::Seconds(60)));
  EXPECT_EQ(calls, 100);
}

TEST(ClientTest, RefusesWhatIsBeyondItsBounds) {
  ClientOptions options = OptionsFor({kNobody});
  options.steps_max = 3;
  options.request_bytes_max = 100;
  const auto client = ClientOf(options);
  v1::StepRequest large;
  large.add_segments();
  for (int i = 0; i < 90; ++i) large.mutable_segments(0)->add_token_ids(1000);
  const absl::Status bytes = client->Submit(large).status();
  EXPECT_EQ(bytes.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(bytes.message(), HasSubstr("request_bytes_max is 100"));
  std::vector<StepFuture> steps;
  for (int i = 0; i < 3; ++i) steps.push_back(*client->Submit(EmptyStep()));
  const absl::Status fourth = client->Submit(EmptyStep()).status();
  EXPECT_EQ(fourth.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(fourth.message(), HasSubstr("steps_max is 3"));
  steps[1].Cancel();
  EXPECT_TRUE(client->Submit(EmptyStep()).ok()) << "a finished step makes room";
}

TEST(ClientTest, HoldsBackWhatTheServerHasNoRoomFor) {
  FakeServer server([](FakeStream& stream) {
    for (int round = 0; round < 5; ++round) {
      const v1::StepRequest first = ReadStep(stream);
      const v1::StepRequest second = ReadStep(stream);
      Answer(stream, second);
      Answer(stream, first);
    }
    return NeverAnswer(stream);
  });
  v1::Welcome welcome;
  *welcome.mutable_model() = FakeModel();
  welcome.set_steps_in_flight_max(2);
  server.set_welcome(welcome);
  const auto client = ClientOf(OptionsFor({server.address()}));
  std::vector<StepFuture> steps;
  for (int i = 0; i < 10; ++i) steps.push_back(*client->Submit(EmptyStep()));
  for (StepFuture& step : steps) EXPECT_TRUE(step.Wait().status.ok());
}

TEST(ClientTest, DestroyedAtRandomMoments) {
  FakeServer server(AnswerAll);
  for (int i = 0; i < 40; ++i) {
    std::vector<StepFuture> steps;
    std::atomic<int> calls{0};
    const int callbacks = i % 5;
    {
      const auto client = ClientOf(OptionsFor({i % 4 == 0 ? kNobody : server.address(), server.address()}));
      for (int n = 0; n < i; ++n) steps.push_back(*client->Submit(EmptyStep()));
      for (int n = 0; n < callbacks; ++n) ASSERT_TRUE(client->Submit(EmptyStep(), [&](StepResult) { ++calls; }).ok());
      absl::SleepFor(absl::Microseconds(150 * i));
    }
    EXPECT_EQ(calls, callbacks);
    for (StepFuture& step : steps) {
      ASSERT_TRUE(step.WaitFor(absl::ZeroDuration())) << "finished by the destructor at the latest";
      const absl::Status status = step.Wait().status;
      EXPECT_TRUE(status.ok() || absl::IsCancelled(status)) << status;
    }
  }
}

}  // namespace
}  // namespace engram
