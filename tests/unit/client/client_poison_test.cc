// One step among good ones at which the server ends the stream: it fails alone.

#include <gtest/gtest.h>

#include "tests/unit/client/poison_fixture.h"

namespace engram {
namespace {

TEST(ClientPoisonTest, FindsTheStepsThatTheServerCannotRead) {
  Reader reader{.verdict = {grpc::StatusCode::INVALID_ARGUMENT, "undecodable"}};
  FakeServer server([&](FakeStream& stream) { return reader.Serve(stream); });
  ClientOptions options = OptionsFor({server.address()});
  options.losses_max = 2;  // beside either of the two
  const auto client = ClientOf(options);
  ASSERT_TRUE(client->AwaitModel(absl::Seconds(30)).ok());
  std::vector<StepFuture> steps;
  for (uint32_t i = 0; i < 12; ++i) steps.push_back(*client->Submit(StepOf({i % 5 == 3 ? kPoison : i})));
  for (size_t i = 0; i < steps.size(); ++i) {
    const absl::Status status = steps[i].Wait().status;
    EXPECT_EQ(status, i % 5 == 3 ? absl::InvalidArgumentError("undecodable") : absl::OkStatus()) << i;
  }
  EXPECT_TRUE(client->Run(StepOf({1})).status.ok());
}

TEST(ClientPoisonTest, FindsALonelyOneAtOnce) {
  Reader reader{.verdict = {grpc::StatusCode::RESOURCE_EXHAUSTED, "larger than max"}};
  FakeServer server([&](FakeStream& stream) { return reader.Serve(stream); });
  const auto client = ClientOf(OptionsFor({server.address()}));
  EXPECT_TRUE(client->Run(StepOf({1})).status.ok());
  EXPECT_EQ(client->Run(StepOf({kPoison})).status, absl::ResourceExhaustedError("larger than max"));
  EXPECT_EQ(reader.streams, 1);
  EXPECT_TRUE(client->Run(StepOf({1})).status.ok());
}

TEST(ClientPoisonTest, ServesTheOthersBesideAStepThatCrashesItsServer) {
  Reader reader{.verdict = {grpc::StatusCode::INTERNAL, "crashed"}};
  FakeServer server([&](FakeStream& stream) { return reader.Serve(stream); });
  ClientOptions options = OptionsFor({server.address()});
  options.losses_max = 1;
  const auto client = ClientOf(options);
  ASSERT_TRUE(client->AwaitModel(absl::Seconds(30)).ok());
  std::vector<StepFuture> steps;
  for (uint32_t i = 0; i < 4; ++i) steps.push_back(*client->Submit(StepOf({i == 1 ? kPoison : i})));
  for (size_t i = 0; i < steps.size(); ++i) {
    const absl::Status status = steps[i].Wait().status;
    EXPECT_EQ(status.code(), i == 1 ? absl::StatusCode::kUnavailable : absl::StatusCode::kOk) << i << ": " << status;
  }
}

}  // namespace
}  // namespace engram
