// Steps that no server would take: each fails alone, without being sent.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "absl/synchronization/notification.h"
#include "model/request_bound.h"
#include "tests/unit/client/poison_fixture.h"

namespace engram {
namespace {

using testing::HasSubstr;

TEST(ClientLimitsTest, SendsNothingAboveTheLimitsOfTheServer) {
  Reader reader;
  FakeServer server([&](FakeStream& stream) { return reader.Serve(stream); });
  SetLimits(server, 10, 2);
  const auto client = ClientOf(OptionsFor({server.address()}));
  absl::StatusOr<StepFuture> before = client->Submit(StepOf({1}));
  absl::StatusOr<StepFuture> large = client->Submit(StepOf(std::vector<uint32_t>(11, 1)));
  TrackedStep many = StepOf({1});
  many.request.add_segments();
  many.request.add_segments();
  absl::StatusOr<StepFuture> segments = client->Submit(std::move(many));
  TrackedStep closes = StepOf({1});
  for (uint64_t id = 1; id <= 3; ++id) closes.request.add_close_sessions(id);
  absl::StatusOr<StepFuture> closing = client->Submit(std::move(closes));
  absl::StatusOr<StepFuture> after = client->Submit(StepOf(std::vector<uint32_t>(10, 1)));
  EXPECT_EQ(large->Wait().status,
            absl::ResourceExhaustedError(
                "the step has 11 tokens, 0 of them long look-back: the server's step_tokens_max is 10"));
  EXPECT_EQ(segments->Wait().status,
            absl::ResourceExhaustedError("segments: 3 of them: the server's segments_max is 2"));
  EXPECT_EQ(closing->Wait().status,
            absl::ResourceExhaustedError("close_sessions: 3 of them: the server's segments_max is 2"));
  EXPECT_TRUE(before->Wait().status.ok());
  EXPECT_TRUE(after->Wait().status.ok()) << "exactly the limit";
  EXPECT_EQ(reader.streams, 1);
}

// As the server does: what hashing needs (two tokens here) is free.
TEST(ClientLimitsTest, CountsLongLookback) {
  Reader reader;
  FakeServer server([&](FakeStream& stream) { return reader.Serve(stream); });
  SetLimits(server, 10, 2);
  const auto client = ClientOf(OptionsFor({server.address()}));
  const auto seeded = [](size_t lookback) {
    TrackedStep step = StepOf(std::vector<uint32_t>(9, 1));
    step.request.mutable_segments(0)->set_start_pos(5);
    const std::vector<uint32_t> tokens(lookback, 1);
    step.request.mutable_segments(0)->mutable_lookback()->mutable_token_ids()->Add(tokens.begin(), tokens.end());
    return step;
  };
  EXPECT_TRUE(client->Run(seeded(3)).status.ok());
  EXPECT_THAT(client->Run(seeded(4)).status.message(), HasSubstr("has 11 tokens, 2 of them long look-back"));
  EXPECT_EQ(reader.streams, 1);
}

TEST(ClientLimitsTest, CountsWhatTheClientItselfAdds) {
  Reader reader;
  FakeServer server([&](FakeStream& stream) { return reader.Serve(stream); });
  SetLimits(server, 10, 2);
  const auto client = ClientOf(OptionsFor({server.address()}));
  const auto step_of = [](TrackedSession& session, size_t own) {
    TrackedStep step = StepOf({});
    step.request.clear_segments();
    session.Append(step, std::vector<uint32_t>(own, 1), std::vector<uint8_t>(own, 0));
    return step;
  };
  TrackedSession by_tokens(7, {.lookback = 4});
  ASSERT_TRUE(by_tokens.Seed(5, {1, 2, 3, 4}).ok());
  EXPECT_TRUE(client->Run(step_of(by_tokens, 10)).status.ok()) << "a seed of no more than hashing needs";
  TrackedSession by_state(8, {.lookback = 2});
  v1::HashState state;
  state.set_position(5);
  by_state.Seed(state);
  step_of(by_state, 1);  // never sent: what follows replays it
  EXPECT_THAT(client->Run(step_of(by_state, 10)).status.message(),
              HasSubstr("has 11 tokens, 0 of them long look-back"));
  EXPECT_EQ(reader.streams, 1);
}

TEST(ClientLimitsTest, SendsNoRequestTooLongToRead) {
  Reader reader;
  FakeServer server([&](FakeStream& stream) { return reader.Serve(stream); });
  SetLimits(server, 10, 2);
  const auto client = ClientOf(OptionsFor({server.address()}));
  TrackedStep step = StepOf({1});
  step.request.mutable_segments(0)->mutable_token_mask()->resize(RequestBytesMax(10, 2));
  const StepResult result = client->Run(std::move(step));
  EXPECT_EQ(result.status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(result.status.message(), HasSubstr("the server reads at most 4195388"));
  EXPECT_TRUE(client->Run(StepOf({1})).status.ok());
  EXPECT_EQ(reader.streams, 1);
}

TEST(ClientLimitsTest, CallsBackFromItsOwnThreadForWhatItDoesNotSend) {
  Reader reader;
  FakeServer server([&](FakeStream& stream) { return reader.Serve(stream); });
  SetLimits(server, 1, 1);
  const auto client = ClientOf(OptionsFor({server.address()}));
  ASSERT_TRUE(client->Run(StepOf({1})).status.ok());
  absl::Notification called;
  const std::thread::id caller = std::this_thread::get_id();
  ASSERT_TRUE(client
                  ->Submit(StepOf({1, 2}),
                           [&](StepResult result) {
                             EXPECT_EQ(result.status.code(), absl::StatusCode::kResourceExhausted);
                             EXPECT_NE(std::this_thread::get_id(), caller) << "which may hold a lock of its own";
                             called.Notify();
                           })
                  .ok());
  called.WaitForNotification();
}

TEST(ClientLimitsTest, RefusesStringsThatNoMessageMayHold) {
  const auto client = ClientOf(OptionsFor({kNobody}));
  TrackedStep step = StepOf({1});
  step.request.mutable_segments(0)->mutable_fork_from()->set_client_id("\xff\xfe");
  EXPECT_EQ(client->Submit(std::move(step)).status(),
            absl::InvalidArgumentError("segments[0].fork_from.client_id: 2 bytes: must be UTF-8"));
  step = StepOf({1});
  step.request.mutable_segments(0)->mutable_fork_from()->set_client_id("Grüße");
  EXPECT_TRUE(client->Submit(std::move(step)).ok());
  ClientOptions options = OptionsFor({kNobody});
  options.client_id = "\xc3";
  EXPECT_EQ(Client::Create(options).status(), absl::InvalidArgumentError("client_id: 1 bytes: must be UTF-8"));
}

}  // namespace
}  // namespace engram
