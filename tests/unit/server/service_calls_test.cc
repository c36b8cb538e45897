// Lookup, GetModel, and what comes with every gRPC server: health and reflection, spoken as bytes since no generated
// class of theirs is at hand.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/server/raw_exchange.h"
#include "tests/unit/server/service_fixture.h"

namespace engram {
namespace {

using ::testing::HasSubstr;

v1::LookupRequest LookupOf(const std::vector<uint32_t>& tokens) {
  v1::LookupRequest request;
  v1::Segment& segment = *request.mutable_step()->add_segments();
  for (const uint32_t token : tokens) segment.add_token_ids(token);
  return request;
}

grpc::Status Lookup(TestServer& server, const v1::LookupRequest& request, v1::LookupReply& reply) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  return server.stub().Lookup(&context, request, &reply);
}

TEST(ServiceCallsTest, GetModelAnswersWhileLoading) {
  TestServer server;
  grpc::ClientContext context;
  v1::Model model;
  ASSERT_TRUE(server.stub().GetModel(&context, v1::GetModelRequest(), &model).ok());
  EXPECT_EQ(model.SerializeAsString(), server.model().SerializeAsString());
  EXPECT_EQ(model.geometry().layer_ids_size(), 2);
  EXPECT_EQ(model.model_digest().size(), 32u);
  EXPECT_EQ(model.combine(), "OWNER_GATHER");
}

TEST(ServiceCallsTest, LookupDeliversEveryByte) {
  TestServer server;
  v1::LookupReply reply;
  const std::vector<uint32_t> tokens = SomeTokens(server, 100);
  EXPECT_EQ(Lookup(server, LookupOf(tokens), reply).error_message(), "loading 42%");
  server.Serve();
  for (const auto format : {v1::ROW_FORMAT_PACKED, v1::ROW_FORMAT_BF16, v1::ROW_FORMAT_HASH_IDS}) {
    v1::LookupRequest request = LookupOf(tokens);
    request.mutable_step()->set_format(format);
    const grpc::Status status = Lookup(server, request, reply);
    ASSERT_TRUE(status.ok()) << status.error_message();
    const std::vector<v1::StepReply> frames(reply.frames().begin(), reply.frames().end());
    EXPECT_EQ(PayloadOf(frames), server.ExpectedRows(tokens, format));
    EXPECT_TRUE(frames.back().last());
  }
  EXPECT_EQ(server.sessions().sessions(), 0u);
}

TEST(ServiceCallsTest, LookupRefusesByStatus) {
  TestServer server;
  server.Serve();
  v1::LookupReply reply;
  grpc::Status status = Lookup(server, LookupOf(SomeTokens(server, 129)), reply);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("lookup_tokens_max"));
  v1::LookupRequest request = LookupOf({1});
  request.mutable_hello()->set_model_name("another");
  EXPECT_EQ(Lookup(server, request, reply).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
}

TEST(ServiceCallsTest, LookupKeepsNamedSessions) {
  TestServer server;
  server.Serve();
  const std::vector<uint32_t> tokens = SomeTokens(server, 6);
  std::string bytes;
  for (size_t i = 0; i < tokens.size(); ++i) {
    v1::LookupRequest request = LookupOf({tokens[i]});
    request.mutable_hello()->set_client_id("someone");
    request.mutable_step()->add_layers(server.checkpoint().geometry.layer_ids[0]);
    request.mutable_step()->mutable_segments(0)->set_session_id(4);
    request.mutable_step()->mutable_segments(0)->set_start_pos(i);
    v1::LookupReply reply;
    const grpc::Status status = Lookup(server, request, reply);
    ASSERT_TRUE(status.ok()) << status.error_message();
    ASSERT_EQ(reply.frames(0).results(0).code(), 0) << reply.frames(0).results(0).message();
    bytes += reply.frames(0).rows();
  }
  const std::string all = server.ExpectedRows(tokens, v1::ROW_FORMAT_PACKED);
  EXPECT_EQ(bytes, all.substr(0, all.size() / 2));
}

TEST(ServiceCallsTest, LookupHonoursItsDeadline) {
  TestServer server;
  server.OpenGate();  // no engine: the step waits
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(50));
  v1::LookupReply reply;
  EXPECT_EQ(server.stub().Lookup(&context, LookupOf({1}), &reply).error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  server.Serve();
  const absl::Time give_up = absl::Now() + absl::Seconds(20);
  while (server.gate().steps() > 0 && absl::Now() < give_up) absl::SleepFor(absl::Milliseconds(1));
  EXPECT_EQ(server.gate().steps(), 0);
}

std::string Health(TestServer& server, const std::string& service) {
  std::string request;
  if (!service.empty()) request = absl::StrCat("\x0a", std::string(1, static_cast<char>(service.size())), service);
  grpc::Status status;
  return Exchange(server, "/grpc.health.v1.Health/Check", request, status);
}

TEST(ServiceCallsTest, HealthFollowsTheServer) {
  const std::string serving = "\x08\x01";
  const std::string not_serving = "\x08\x02";
  TestServer server;
  for (const std::string service : {"", "engram.v1.EngramLookup"}) EXPECT_EQ(Health(server, service), not_serving);
  server.Serve();
  for (const std::string service : {"", "engram.v1.EngramLookup"}) EXPECT_EQ(Health(server, service), serving);
  server.grpc().Drain("over", absl::Seconds(1));
  for (const std::string service : {"", "engram.v1.EngramLookup"}) EXPECT_EQ(Health(server, service), not_serving);
}

TEST(ServiceCallsTest, ReflectionListsTheService) {
  TestServer server;
  grpc::Status status;
  const std::string answer =
      Exchange(server, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", "\x3a\x01*", status);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_THAT(answer, HasSubstr("engram.v1.EngramLookup"));
  EXPECT_THAT(answer, HasSubstr("grpc.health.v1.Health"));
}

TEST(ServiceCallsTest, GarbageEndsTheStream) {
  TestServer server;
  server.Serve();
  for (const std::string garbage : {"\xff\xff\xff\xff", "\x0a\x7f short", "\x12"}) {
    grpc::Status status;
    EXPECT_EQ(Exchange(server, "/engram.v1.EngramLookup/Stream", garbage, status), "");
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
  }
}

TEST(ServiceCallsTest, TwoServersCannotShareAPort) {
  TestServer server;
  const absl::Status status = server.StartAnotherOnTheSamePort();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("listen.address = 127.0.0.1:"));
}

}  // namespace
}  // namespace engram
