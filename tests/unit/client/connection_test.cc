// The client against a service in this process: frames of several steps, refusals, broken answers, broken connections.

#include "client/connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <thread>

#include "absl/synchronization/notification.h"
#include "client/channel.h"
#include "tests/unit/client/fake_service.h"

namespace engram {
namespace {

using testing::Each;
using testing::HasSubstr;

constexpr size_t kTokenBytes = 2 * 33;  // K = 2 packed rows

v1::StepRequest TwoLayers(uint64_t session_id, int tokens) {
  v1::StepRequest step;
  v1::Segment& segment = *step.add_segments();
  segment.set_session_id(session_id);
  for (int i = 0; i < tokens; ++i) segment.add_token_ids(static_cast<uint32_t>(i));
  return step;
}

TEST(ChannelTest, PingsAsItsOptionsSay) {
  ConnectionOptions options;
  options.keepalive = absl::Seconds(7);
  options.keepalive_timeout = absl::Milliseconds(1500);
  const auto value_of = [&options](const std::string& key) {
    const grpc::ChannelArguments arguments = ArgumentsOf(options);
    const grpc_channel_args all = arguments.c_channel_args();
    for (size_t i = 0; i < all.num_args; ++i) {
      if (key == all.args[i].key) return all.args[i].value.integer;
    }
    return -1;
  };
  EXPECT_EQ(value_of(GRPC_ARG_KEEPALIVE_TIME_MS), 7000);
  EXPECT_EQ(value_of(GRPC_ARG_KEEPALIVE_TIMEOUT_MS), 1500) << "gRPC's own is 20 s";
  options.keepalive_timeout = absl::InfiniteDuration();
  EXPECT_EQ(value_of(GRPC_ARG_KEEPALIVE_TIMEOUT_MS), std::numeric_limits<int>::max());
  options.keepalive = absl::InfiniteDuration();
  EXPECT_EQ(value_of(GRPC_ARG_KEEPALIVE_TIME_MS), -1);
}

TEST(ConnectionTest, GetsWelcomeAndSaysWhoItIs) {
  FakeServer server([](FakeStream& stream) {
    ReadToEnd(stream);
    return grpc::Status::OK;
  });
  ConnectionOptions options;
  options.address = server.address();
  options.client_id = "decode-7";
  options.model_name = "fake";
  const auto client = Connection::Connect(options);
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_EQ((*client)->model().name(), "fake");
  EXPECT_EQ((*client)->geometry().columns(), 2u);
  EXPECT_EQ((*client)->welcome().steps_in_flight_max(), 8u);
  EXPECT_EQ(server.hello().client_id(), "decode-7");
  EXPECT_TRUE((*client)->status().ok());
}

TEST(ConnectionTest, SaysThatNobodyListens) {
  ConnectionOptions options;
  options.address = "127.0.0.1:1";
  const auto client = Connection::Connect(options);
  EXPECT_EQ(client.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(client.status().message(), HasSubstr("127.0.0.1:1"));
}

TEST(ConnectionTest, PassesTheServersRefusalOfHelloOn) {
  FakeServer server([](FakeStream&) { return grpc::Status::OK; });
  ConnectionOptions options;
  options.address = server.address();
  options.model_name = "other";
  const auto client = Connection::Connect(options);
  EXPECT_EQ(client.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(client.status().message(), HasSubstr("model_name is another"));
}

TEST(ConnectionTest, RefusesAGeometryThatMakesNoSense) {
  FakeServer server([](FakeStream& stream) {
    ReadToEnd(stream);
    return grpc::Status::OK;
  });
  v1::Welcome welcome;
  *welcome.mutable_model() = FakeModel();
  welcome.mutable_model()->mutable_geometry()->set_columns(7);
  server.set_welcome(welcome);
  ConnectionOptions options;
  options.address = server.address();
  const auto client = Connection::Connect(options);
  EXPECT_EQ(client.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(client.status().message(), HasSubstr("7 columns"));
}

TEST(ConnectionTest, GivesUpWaitingForWelcome) {
  // Accepts calls and never takes one up.
  grpc::ServerBuilder builder;
  int port = 0;
  grpc::AsyncGenericService silent;
  builder.RegisterAsyncGenericService(&silent);
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  const auto queue = builder.AddCompletionQueue();
  const auto quiet = builder.BuildAndStart();
  ConnectionOptions options;
  options.address = "127.0.0.1:" + std::to_string(port);
  options.connect_timeout = absl::Milliseconds(200);
  const auto client = Connection::Connect(options);
  EXPECT_EQ(client.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(client.status().message(), HasSubstr("200ms"));
  quiet->Shutdown(std::chrono::system_clock::now());
  queue->Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue->Next(&tag, &ok)) {
  }
}

TEST(ConnectionTest, PutsInterleavedFramesOfTwoStepsTogether) {
  FakeServer server([](FakeStream& stream) {
    const v1::StepRequest first = ReadStep(stream);
    const v1::StepRequest second = ReadStep(stream);
    EXPECT_LT(first.step_id(), second.step_id());
    v1::StepReply frame = RowsFrame(first.step_id(), 1, 0, 2, kTokenBytes, 10);
    AddResults(first, frame);
    Write(stream, frame);
    frame = RowsFrame(second.step_id(), 1, 0, 1, kTokenBytes, 100);
    AddResults(second, frame);
    Write(stream, frame);
    Write(stream, RowsFrame(first.step_id(), 1, 2, 1, kTokenBytes, 10));
    Write(stream, RowsFrame(second.step_id(), 14, 0, 1, kTokenBytes, 200));
    WriteLast(stream, second.step_id());  // the later step ends first
    Write(stream, RowsFrame(first.step_id(), 14, 0, 3, kTokenBytes, 20));
    WriteLast(stream, first.step_id());
    ReadToEnd(stream);
    return grpc::Status::OK;
  });
  const auto client = server.Connect();
  auto first = client->Submit(TwoLayers(5, 3));
  auto second = client->Submit(TwoLayers(6, 1));
  ASSERT_TRUE(first.ok() && second.ok());
  const StepResult two = second->Wait();
  const StepResult one = first->Wait();
  ASSERT_TRUE(one.status.ok()) << one.status;
  ASSERT_TRUE(two.status.ok()) << two.status;
  EXPECT_EQ(one.segments[0].length(), 3u);
  EXPECT_EQ(one.segments[0].session_id(), 5u);
  for (uint64_t token = 0; token < 3; ++token) {
    EXPECT_THAT(one.layer(1)->row(token, 1), Each(10 + token));
    EXPECT_THAT(one.layer(14)->row(token, 0), Each(20 + token));
  }
  EXPECT_THAT(two.layer(1)->bytes(), Each(100));
  EXPECT_THAT(two.layer(14)->bytes(), Each(200));
}

TEST(ConnectionTest, HandsTheStepsCodeOutAndKeepsTheSegmentResults) {
  FakeServer server([](FakeStream& stream) {
    const v1::StepRequest step = ReadStep(stream);
    v1::StepReply frame;
    frame.set_step_id(step.step_id());
    AddResults(step, frame);
    Write(stream, frame);
    WriteLast(stream, step.step_id(), grpc::StatusCode::DEADLINE_EXCEEDED, "timeout_ms 5 passed");
    const v1::StepRequest refused = ReadStep(stream);
    WriteLast(stream, refused.step_id(), grpc::StatusCode::INVALID_ARGUMENT, "layers holds 3");
    ReadToEnd(stream);
    return grpc::Status::OK;
  });
  const auto client = server.Connect();
  const StepResult late = client->Run(TwoLayers(5, 3));
  EXPECT_EQ(late.status, absl::DeadlineExceededError("timeout_ms 5 passed"));
  EXPECT_EQ(late.segments[0].length(), 3u);
  EXPECT_TRUE(late.layers.empty());
  const StepResult refused = client->Run(TwoLayers(5, 3));
  EXPECT_EQ(refused.status, absl::InvalidArgumentError("layers holds 3"));
  EXPECT_EQ(refused.segment_status(0), refused.status);
  EXPECT_TRUE(client->status().ok()) << "a step's code leaves the stream alone";
}

TEST(ConnectionTest, FinishesAllStepsWhenTheStreamEnds) {
  FakeServer server([](FakeStream& stream) {
    ReadStep(stream);
    ReadStep(stream);
    return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "step_id 3 does not grow");
  });
  const auto client = server.Connect();
  auto first = client->Submit(TwoLayers(5, 3));
  auto second = client->Submit(TwoLayers(6, 1));
  EXPECT_EQ(first->Wait().status, absl::InvalidArgumentError("step_id 3 does not grow"));
  EXPECT_EQ(second->Wait().status, absl::InvalidArgumentError("step_id 3 does not grow"));
  const auto third = client->Submit(TwoLayers(7, 1));
  EXPECT_EQ(third.status(), absl::InvalidArgumentError("step_id 3 does not grow"));
}

TEST(ConnectionTest, CallsAnOrderlyEndUnavailable) {
  FakeServer server([](FakeStream& stream) {
    ReadStep(stream);
    return grpc::Status::OK;
  });
  const auto client = server.Connect();
  EXPECT_EQ(client->Run(TwoLayers(5, 3)).status.code(), absl::StatusCode::kUnavailable);
}

TEST(ConnectionTest, MayBeDestroyedWithStepsInFlight) {
  absl::Notification read;
  FakeServer server([&read](FakeStream& stream) {
    const v1::StepRequest step = ReadStep(stream);
    ReadStep(stream);
    v1::StepReply frame = RowsFrame(step.step_id(), 1, 0, 2, kTokenBytes);
    AddResults(step, frame);
    Write(stream, frame);
    read.Notify();
    ReadToEnd(stream);
    return grpc::Status::OK;
  });
  auto client = server.Connect();
  auto first = client->Submit(TwoLayers(5, 3));
  auto second = client->Submit(TwoLayers(6, 1));
  ASSERT_TRUE(first.ok() && second.ok());
  StepResult waited;
  std::thread waiter([&] { waited = first->Wait(); });
  read.WaitForNotification();
  client.reset();
  waiter.join();
  EXPECT_EQ(waited.status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(second->Wait().status.code(), absl::StatusCode::kCancelled);
  second->Cancel();  // outlives its client
}

TEST(ConnectionTest, DestroyedAtOnceManyTimes) {
  FakeServer server([](FakeStream& stream) {
    ReadToEnd(stream);
    return grpc::Status::OK;
  });
  for (int i = 0; i < 20; ++i) {
    const auto client = server.Connect();
    auto step = client->Submit(TwoLayers(5, 3));
    ASSERT_TRUE(step.ok());
  }
}

TEST(ConnectionTest, SendsCancelAndTakesItsAnswer) {
  FakeServer server([](FakeStream& stream) {
    const v1::StepRequest step = ReadStep(stream);
    v1::ClientMessage message;
    EXPECT_TRUE(stream.Read(&message));
    EXPECT_EQ(message.cancel().step_id(), step.step_id());
    WriteLast(stream, step.step_id(), grpc::StatusCode::CANCELLED, "by the client");
    ReadToEnd(stream);
    return grpc::Status::OK;
  });
  const auto client = server.Connect();
  auto step = client->Submit(TwoLayers(5, 3));
  EXPECT_FALSE(step->WaitFor(absl::ZeroDuration()));
  step->Cancel();
  EXPECT_EQ(step->Wait().status, absl::CancelledError("by the client"));
}

TEST(ConnectionTest, SubmitsNothingMoreToADrainingServer) {
  FakeServer server([](FakeStream& stream) {
    const v1::StepRequest step = ReadStep(stream);
    v1::ServerMessage drain;
    drain.mutable_drain()->set_message("SIGTERM");
    stream.Write(drain);
    v1::StepReply frame = RowsFrame(step.step_id(), 1, 0, 1, kTokenBytes);
    AddResults(step, frame);
    Write(stream, frame);
    Write(stream, RowsFrame(step.step_id(), 14, 0, 1, kTokenBytes));
    WriteLast(stream, step.step_id());
    ReadToEnd(stream);
    return grpc::Status::OK;
  });
  const auto client = server.Connect();
  EXPECT_TRUE(client->Run(TwoLayers(5, 1)).status.ok()) << "admitted steps are still answered";
  const auto refused = client->Submit(TwoLayers(5, 1));
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(refused.status().message(), HasSubstr("SIGTERM"));
}

TEST(ConnectionTest, KeepsToTheServersStepsInFlight) {
  FakeServer server([](FakeStream& stream) {
    ReadToEnd(stream);
    return grpc::Status::OK;
  });
  const auto client = server.Connect();
  std::vector<StepHandle> steps;
  for (int i = 0; i < 8; ++i) steps.push_back(*client->Submit(TwoLayers(5, 1)));
  const auto ninth = client->Submit(TwoLayers(5, 1));
  EXPECT_EQ(ninth.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(ninth.status().message(), HasSubstr("steps_in_flight_max is 8"));
}

TEST(ConnectionTest, TakesStepsFromManyThreads) {
  FakeServer server([](FakeStream& stream) {
    v1::ClientMessage message;
    while (stream.Read(&message)) {
      const v1::StepRequest& step = message.step();
      const auto fill = static_cast<uint8_t>(step.segments(0).session_id());
      v1::StepReply frame = RowsFrame(step.step_id(), 1, 0, 1, kTokenBytes, fill);
      AddResults(step, frame);
      Write(stream, frame);
      Write(stream, RowsFrame(step.step_id(), 14, 0, 1, kTokenBytes, fill));
      WriteLast(stream, step.step_id());
    }
    return grpc::Status::OK;
  });
  const auto client = server.Connect();
  std::vector<std::thread> threads;
  for (uint64_t thread = 1; thread <= 4; ++thread) {
    threads.emplace_back([&client, thread] {
      for (int i = 0; i < 100; ++i) {
        const StepResult result = client->Run(TwoLayers(thread, 1));
        ASSERT_TRUE(result.status.ok()) << result.status;
        ASSERT_THAT(result.layer(14)->bytes(), Each(thread));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(ConnectionTest, EndsTheStreamOverAnAnswerThatMakesNoSense) {
  FakeServer server([](FakeStream& stream) {
    const v1::StepRequest step = ReadStep(stream);
    v1::StepReply frame = RowsFrame(step.step_id(), 1, 0, 1, kTokenBytes - 1);
    AddResults(step, frame);
    Write(stream, frame);
    ReadToEnd(stream);
    return grpc::Status::OK;
  });
  const auto client = server.Connect();
  const StepResult result = client->Run(TwoLayers(5, 1));
  EXPECT_EQ(result.status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(result.status.message(), HasSubstr("65 bytes of rows for tokens 0..1, which have 66"));
  EXPECT_EQ(client->status().code(), absl::StatusCode::kInternal);
}

TEST(ConnectionTest, EndsTheStreamOverAStepNobodySent) {
  FakeServer server([](FakeStream& stream) {
    ReadStep(stream);
    WriteLast(stream, 77);
    ReadToEnd(stream);
    return grpc::Status::OK;
  });
  const auto client = server.Connect();
  const StepResult result = client->Run(TwoLayers(5, 1));
  EXPECT_EQ(result.status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(result.status.message(), HasSubstr("step 77"));
}

TEST(FetchTest, GetsTheModel) {
  FakeServer server([](FakeStream&) { return grpc::Status::OK; });
  const auto model = FetchModel(server.address(), absl::Seconds(10));
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->name(), "fake");
}

TEST(FetchTest, GetsTheHealth) {
  grpc::EnableDefaultHealthCheckService(true);
  FakeServer server([](FakeStream&) { return grpc::Status::OK; });
  const auto health = FetchHealth(server.address(), absl::Seconds(10));
  ASSERT_TRUE(health.ok()) << health.status();
  EXPECT_EQ(*health, "SERVING");
  EXPECT_EQ(FetchHealth("127.0.0.1:1", absl::Seconds(10)).status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace engram
