// Sessions that another stream has: the step waits on the same connection, and nobody waits with it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "tests/unit/client/client_fixture.h"

namespace engram {
namespace {

using testing::HasSubstr;

constexpr uint64_t kBusy = 7;

// Refuses the busy session's segments while `busy`, and answers everything else.
struct BusyService {
  std::atomic<bool> busy{true};
  std::atomic<int> refused{0};
  std::atomic<int> streams{0};

  grpc::Status Serve(FakeStream& stream) {
    ++streams;
    v1::ClientMessage message;
    while (stream.Read(&message)) {
      v1::StepReply frame;
      frame.set_step_id(message.step().step_id());
      AddResults(message.step(), frame);
      for (v1::SegmentResult& result : *frame.mutable_results()) {
        if (result.session_id() != kBusy || !busy) continue;
        result.set_code(grpc::StatusCode::ABORTED);
        result.set_message("session 7 is in use");
        ++refused;
      }
      frame.set_last(true);
      Write(stream, frame);
    }
    return grpc::Status::OK;
  }
};

TrackedStep StepOf(uint64_t session_id) {
  TrackedStep step;
  TrackedSession(session_id).Append(step, {});
  return step;
}

TEST(ClientBusyTest, RepeatsOnTheSameConnectionWhileOthersAreServed) {
  BusyService service;
  FakeServer server([&](FakeStream& stream) { return service.Serve(stream); });
  const auto client = ClientOf(OptionsFor({server.address()}));
  absl::StatusOr<StepFuture> waits = client->Submit(StepOf(kBusy));
  while (service.refused < 3) {
    EXPECT_TRUE(client->Run(StepOf(8)).status.ok());
    EXPECT_TRUE(client->status().ok()) << client->status();
  }
  EXPECT_FALSE(waits->WaitFor(absl::ZeroDuration()));
  service.busy = false;
  const StepResult result = waits->Wait();
  EXPECT_TRUE(result.status.ok()) << result.status;
  EXPECT_TRUE(result.segment_status(0).ok()) << result.segment_status(0);
  EXPECT_EQ(service.streams, 1);
}

TEST(ClientBusyTest, EndsWithTheServersWordsOnceItHasWaitedLongEnough) {
  BusyService service;
  FakeServer server([&](FakeStream& stream) { return service.Serve(stream); });
  ClientOptions options = OptionsFor({server.address()});
  options.unavailable_timeout = absl::Milliseconds(50);
  const auto client = ClientOf(options);
  TrackedStep step = StepOf(kBusy);
  TrackedSession(8).Append(step, {});
  const StepResult result = client->Run(std::move(step));
  EXPECT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(result.segment_status(0), absl::AbortedError("session 7 is in use"));
  EXPECT_TRUE(result.segment_status(1).ok()) << "the other one was served";
  EXPECT_GT(service.refused, 1);
  EXPECT_EQ(service.streams, 1);
}

TEST(ClientBusyTest, EndsAtOnceWhenCancelledOrOutOfTime) {
  BusyService service;
  FakeServer server([&](FakeStream& stream) { return service.Serve(stream); });
  ClientOptions options = OptionsFor({server.address()});
  options.backoff = {.initial = absl::Hours(1), .max = absl::Hours(1), .multiplier = 1};
  options.unavailable_timeout = absl::InfiniteDuration();
  auto client = ClientOf(options);
  absl::StatusOr<StepFuture> cancelled = client->Submit(StepOf(kBusy));
  absl::StatusOr<StepFuture> late = client->Submit(StepOf(kBusy), {.timeout = absl::Milliseconds(200)});
  absl::StatusOr<StepFuture> left = client->Submit(StepOf(kBusy));
  while (service.refused < 3) absl::SleepFor(absl::Milliseconds(1));
  cancelled->Cancel();
  EXPECT_EQ(cancelled->Wait().status, absl::CancelledError("cancelled by the caller"));
  EXPECT_EQ(late->Wait().status, absl::DeadlineExceededError("not finished within 200ms"));
  client.reset();
  EXPECT_EQ(left->Wait().status, absl::CancelledError("the client was destroyed"));
}

TEST(ClientBusyTest, SaysWhyItIsNotConnected) {
  FakeServer server([](FakeStream& stream) {
    Answer(stream, ReadStep(stream), grpc::StatusCode::UNAVAILABLE, "loading 42%");
    return NeverAnswer(stream);
  });
  ClientOptions options = OptionsFor({server.address()});
  options.backoff = {.initial = absl::Hours(1), .max = absl::Hours(1), .multiplier = 1};
  options.unavailable_timeout = absl::Milliseconds(100);
  const auto client = ClientOf(options);
  ASSERT_TRUE(client->AwaitModel(absl::Seconds(30)).ok());
  const StepResult result = client->Run(EmptyStep());
  EXPECT_EQ(result.status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(result.status.message(), HasSubstr(server.address() + ": loading 42%"));
  EXPECT_THAT(client->status().message(), HasSubstr("loading 42%"));
}

}  // namespace
}  // namespace engram
