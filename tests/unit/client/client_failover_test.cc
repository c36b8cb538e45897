// Where the client goes when a server is away, drains, refuses or dies.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "absl/synchronization/notification.h"
#include "tests/unit/client/client_fixture.h"

namespace engram {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(ClientFailoverTest, FailsOverToTheAddressThatAnswers) {
  FakeServer server(AnswerAll);
  const auto client = ClientOf(OptionsFor({kNobody, server.address()}));
  EXPECT_EQ(client->AwaitModel(absl::Seconds(30))->name(), "fake");
  const StepResult result = client->Run(EmptyStep());
  EXPECT_TRUE(result.status.ok()) << result.status;
  EXPECT_TRUE(client->status().ok());
}

TEST(ClientFailoverTest, MovesOnFromADrainingServerThatFinishesWhatItHas) {
  absl::Notification moved;
  FakeServer draining([&](FakeStream& stream) {
    const v1::StepRequest step = ReadStep(stream);
    v1::ServerMessage drain;
    drain.mutable_drain()->set_message("SIGTERM");
    stream.Write(drain);
    moved.WaitForNotification();
    Answer(stream, step);
    return NeverAnswer(stream);
  });
  FakeServer other(AnswerAll);
  const auto client = ClientOf(OptionsFor({draining.address(), other.address()}));
  absl::StatusOr<StepFuture> first = client->Submit(EmptyStep());
  ASSERT_TRUE(client->AwaitModel(absl::Seconds(30)).ok());
  // One after another until they no longer go to the first server, which answers nothing meanwhile.
  StepResult second = client->Run(EmptyStep(), {.timeout = absl::Milliseconds(50)});
  while (absl::IsDeadlineExceeded(second.status)) {
    second = client->Run(EmptyStep(), {.timeout = absl::Milliseconds(50)});
  }
  EXPECT_TRUE(second.status.ok()) << second.status;
  EXPECT_FALSE(first->WaitFor(absl::ZeroDuration()));
  moved.Notify();
  EXPECT_TRUE(first->Wait().status.ok());
}

TEST(ClientFailoverTest, TakesUnavailableForAReasonToGoElsewhere) {
  std::atomic<int> refused{0};
  FakeServer loading([&](FakeStream& stream) {
    v1::ClientMessage message;
    while (stream.Read(&message)) {
      ++refused;
      Answer(stream, message.step(), grpc::StatusCode::UNAVAILABLE, "loading 42%");
    }
    return grpc::Status::OK;
  });
  FakeServer other(AnswerAll);
  {
    const auto client = ClientOf(OptionsFor({loading.address(), other.address()}));
    EXPECT_TRUE(client->Run(EmptyStep()).status.ok());
    EXPECT_EQ(refused, 1);
  }
  ClientOptions options = OptionsFor({loading.address()});
  options.unavailable_timeout = absl::Milliseconds(50);
  const auto client = ClientOf(options);
  ASSERT_TRUE(client->AwaitModel(absl::Seconds(30)).ok());
  const StepResult result = client->Run(EmptyStep());
  EXPECT_EQ(result.status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(result.status.message(), HasSubstr("loading 42%"));
}

TEST(ClientFailoverTest, GivesUpWithoutAServer) {
  ClientOptions options = OptionsFor({kNobody});
  options.unavailable_timeout = absl::Milliseconds(30);
  const auto client = ClientOf(options);
  while (client->status() == absl::UnavailableError("not connected yet")) absl::SleepFor(absl::Milliseconds(1));
  const StepResult result = client->Run(EmptyStep());
  EXPECT_EQ(result.status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(result.status.message(), HasSubstr("unavailable_timeout"));
  EXPECT_THAT(result.status.message(), HasSubstr(kNobody));
}

TEST(ClientFailoverTest, GivesUpAStepThatKillsItsServers) {
  std::atomic<int> streams{0};
  FakeServer server([&](FakeStream& stream) {
    ReadStep(stream);
    ++streams;
    return grpc::Status(grpc::StatusCode::INTERNAL, "crashed");
  });
  ClientOptions options = OptionsFor({server.address()});
  options.losses_max = 3;
  const auto client = ClientOf(options);
  const StepResult result = client->Run(EmptyStep());
  EXPECT_EQ(result.status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(result.status.message(), HasSubstr("losses_max is 3: crashed"));
  EXPECT_EQ(streams, 4);
}

TEST(ClientFailoverTest, FailsOnceAllServersRefuseForGood) {
  FakeServer server(AnswerAll);
  ClientOptions options = OptionsFor({server.address(), server.address()});
  options.model_name = "other";
  const auto client = ClientOf(options);
  const StepResult result = client->Run(EmptyStep());
  EXPECT_EQ(result.status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(result.status.message(), HasSubstr(server.address() + ": model_name is another"));
  EXPECT_EQ(client->AwaitModel(absl::Seconds(30)).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(ClientFailoverTest, StaysWithTheModelItFirstMet) {
  FakeServer first([](FakeStream& stream) {
    Answer(stream, ReadStep(stream));
    return grpc::Status::OK;
  });
  FakeServer another(AnswerAll);
  v1::Welcome welcome;
  *welcome.mutable_model() = FakeModel();
  welcome.mutable_model()->set_model_digest(std::string(32, 'x'));
  another.set_welcome(welcome);
  ClientOptions options = OptionsFor({first.address(), another.address()});
  const auto client = ClientOf(options);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(client->Run(EmptyStep()).status.ok()) << i;
}

// A service that answers with rows of one byte, ends each stream after `steps`, and remembers the segments it saw.
class SeedWatcher {
 public:
  grpc::Status Serve(FakeStream& stream, int steps) {
    v1::ClientMessage message;
    while (steps-- > 0 && stream.Read(&message)) {
      const v1::StepRequest& step = message.step();
      seen_.push_back(step.segments(0));
      const auto tokens = static_cast<uint64_t>(step.segments(0).token_ids_size());
      v1::StepReply frame = RowsFrame(step.step_id(), 1, 0, tokens, 66);
      AddResults(step, frame);
      Write(stream, frame);
      frame = RowsFrame(step.step_id(), 14, 0, tokens, 66);
      frame.set_last(true);
      Write(stream, frame);
    }
    return grpc::Status::OK;
  }
  const v1::Segment& last() const { return seen_.back(); }  // once its step is answered

 private:
  std::vector<v1::Segment> seen_;  // by one stream at a time
};

TEST(ClientFailoverTest, SeedsOnlyWhatTheServerMayNotKnow) {
  SeedWatcher watcher;
  std::atomic<int> steps{3};
  FakeServer server([&](FakeStream& stream) { return watcher.Serve(stream, steps.exchange(100)); });
  const auto client = ClientOf(OptionsFor({server.address()}));
  TrackedSession session(7, {.lookback = 2});  // G is 3 here
  const auto seed_of_next = [&](std::vector<uint32_t> tokens) {
    TrackedStep step;
    session.Append(step, tokens);
    const StepResult result = client->Run(std::move(step));
    EXPECT_TRUE(result.status.ok()) << result.status;
    const auto& lookback = watcher.last().lookback().token_ids();
    return std::vector<uint32_t>(lookback.begin(), lookback.end());
  };
  EXPECT_THAT(seed_of_next({1, 2, 3, 4}), IsEmpty());
  EXPECT_THAT(seed_of_next({5}), IsEmpty());
  ASSERT_TRUE(session.RewindTo(3).ok());
  EXPECT_THAT(seed_of_next({6, 7, 8, 9}), IsEmpty()) << "the server knows all of it";
  EXPECT_THAT(seed_of_next({10}), ElementsAre(8, 9)) << "the stream has ended after three steps";
  EXPECT_THAT(seed_of_next({11}), IsEmpty());
  ASSERT_TRUE(session.RewindTo(7).ok());
  EXPECT_THAT(seed_of_next({12}), IsEmpty()) << "as far back as its seed lets it go";
  ASSERT_TRUE(session.RewindTo(6).ok());
  EXPECT_THAT(seed_of_next({13}), ElementsAre(7, 8)) << "below what it knows";
  absl::StatusOr<TrackedSession> fork = session.Fork(8, 5);
  ASSERT_TRUE(fork.ok());
  session = *std::move(fork);
  EXPECT_THAT(seed_of_next({14}), ElementsAre(6, 7));
}

}  // namespace
}  // namespace engram
