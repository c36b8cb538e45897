// The client library and a service in this process that share memory.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "client/client.h"
#include "client/connection.h"
#include "tests/unit/client/client_options.h"
#include "tests/unit/server/service_fixture.h"

namespace engram {
namespace {

using ::testing::HasSubstr;

// Of this test alone, so that it can look for what was left behind.
std::string Prefix() { return absl::StrCat("/engram-client-test-", getpid(), "-"); }

std::vector<std::string> Enabled() {
  return {"shared_memory.enabled=true", absl::StrCat("shared_memory.name_prefix=", Prefix())};
}

size_t NamesLeft() {
  size_t names = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    names += absl::StrCat("/", entry.path().filename().string()).rfind(Prefix(), 0) == 0 ? 1 : 0;
  }
  return names;
}

std::string AddressOf(TestServer& server) { return absl::StrCat("127.0.0.1:", server.grpc().port()); }

SharedMemoryOptions Shared(uint64_t bytes, bool required = true) { return {bytes, Prefix(), required}; }

v1::StepRequest StepOf(const std::vector<uint32_t>& tokens, v1::RowFormat format = v1::ROW_FORMAT_PACKED) {
  v1::StepRequest step;
  step.set_format(format);
  step.add_segments()->mutable_token_ids()->Add(tokens.begin(), tokens.end());
  return step;
}

std::string BytesOf(const StepResult& result) {
  EXPECT_TRUE(result.status.ok()) << result.status;
  std::string bytes;
  for (const LayerRows& layer : result.layers) bytes.append(layer.bytes().begin(), layer.bytes().end());
  return bytes;
}

std::unique_ptr<Connection> Connect(TestServer& server, const SharedMemoryOptions& shared) {
  ConnectionOptions options;
  options.address = AddressOf(server);
  options.shared_memory = shared;
  auto connection = Connection::Connect(options);
  EXPECT_TRUE(connection.ok()) << connection.status();
  return *std::move(connection);
}

TEST(SharedMemory, RowsOfEveryFormatLieInTheSegment) {
  TestServer server(Enabled());
  server.Serve();
  const auto connection = Connect(server, Shared(64 << 20));
  EXPECT_TRUE(connection->shared_memory_status().ok());
  EXPECT_EQ(NamesLeft(), 0u) << "unlinked as soon as the server has it";
  const std::vector<uint32_t> tokens = SomeTokens(server, 300);
  std::vector<StepResult> kept;
  for (const auto format : {v1::ROW_FORMAT_PACKED, v1::ROW_FORMAT_BF16, v1::ROW_FORMAT_HASH_IDS}) {
    kept.push_back(connection->Run(StepOf(tokens, format)));
    for (const LayerRows& layer : kept.back().layers) EXPECT_TRUE(layer.in_shared_memory());
  }
  EXPECT_EQ(BytesOf(kept[0]), server.ExpectedRows(tokens, v1::ROW_FORMAT_PACKED));
  EXPECT_EQ(BytesOf(kept[1]), server.ExpectedRows(tokens, v1::ROW_FORMAT_BF16));
  EXPECT_EQ(BytesOf(kept[2]), server.ExpectedRows(tokens, v1::ROW_FORMAT_HASH_IDS));
}

TEST(SharedMemory, StepsThatFindNoPlaceComeInMessages) {
  TestServer server(Enabled());
  server.Serve();
  const std::vector<uint32_t> tokens = SomeTokens(server, 50);
  const std::string wanted = server.ExpectedRows(tokens, v1::ROW_FORMAT_PACKED);
  const auto connection = Connect(server, Shared(wanted.size()));
  StepResult first = connection->Run(StepOf(tokens));
  EXPECT_TRUE(first.through_shared_memory);
  const StepResult second = connection->Run(StepOf(tokens));
  EXPECT_FALSE(second.through_shared_memory);
  EXPECT_EQ(BytesOf(first), wanted);
  EXPECT_EQ(BytesOf(second), wanted);
  first.layers.clear();
  const StepResult third = connection->Run(StepOf(tokens));
  EXPECT_TRUE(third.through_shared_memory);
  EXPECT_EQ(BytesOf(third), wanted);
}

TEST(SharedMemory, ResultsOutliveTheirConnection) {
  TestServer server(Enabled());
  server.Serve();
  const std::vector<uint32_t> tokens = SomeTokens(server, 20);
  auto connection = Connect(server, Shared(1 << 20));
  const StepResult result = connection->Run(StepOf(tokens));
  connection.reset();
  EXPECT_TRUE(result.layers[0].in_shared_memory());
  EXPECT_EQ(BytesOf(result), server.ExpectedRows(tokens, v1::ROW_FORMAT_PACKED));
}

TEST(SharedMemory, AServerWithoutItIsUsedAllTheSameOrNotAtAll) {
  TestServer server;
  server.Serve();
  const std::vector<uint32_t> tokens = SomeTokens(server, 20);
  const auto connection = Connect(server, Shared(1 << 20, false));
  EXPECT_THAT(std::string(connection->shared_memory_status().message()), HasSubstr("it does not offer it"));
  EXPECT_EQ(BytesOf(connection->Run(StepOf(tokens))), server.ExpectedRows(tokens, v1::ROW_FORMAT_PACKED));

  ConnectionOptions options;
  options.address = AddressOf(server);
  options.shared_memory = Shared(1 << 20);
  const absl::Status refused = Connection::Connect(options).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("no shared memory with the server: it does not offer it"));

  ClientOptions client_options = OptionsFor({AddressOf(server)});
  client_options.shared_memory = Shared(1 << 20);
  const auto client = *Client::Create(client_options);
  const absl::Status none = client->AwaitModel(absl::Seconds(30)).status();
  EXPECT_EQ(none.code(), absl::StatusCode::kFailedPrecondition) << none;
  EXPECT_THAT(std::string(none.message()), HasSubstr("no shared memory with the server"));
}

TEST(SharedMemory, ARefusalNamesTheServersBound) {
  std::vector<std::string> settings = Enabled();
  settings.push_back("shared_memory.segment_bytes_max=65536");
  TestServer server(settings);
  server.Serve();
  ConnectionOptions options;
  options.address = AddressOf(server);
  options.shared_memory = Shared(1 << 20);
  const absl::Status refused = Connection::Connect(options).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("RESOURCE_EXHAUSTED: bytes = 1048576: at most 65536 (shared_memory.segment_bytes_max)"));
  const auto connection = Connect(server, Shared(1 << 20, false));
  EXPECT_FALSE(connection->shared_memory_status().ok());
  EXPECT_EQ(NamesLeft(), 0u);
}

TEST(SharedMemory, EachConnectionOfAClientHasItsOwn) {
  const std::vector<std::string> settings = Enabled();
  auto first = std::make_unique<TestServer>(settings);
  first->Serve();
  TestServer second(settings);
  second.Serve();
  ClientOptions options = OptionsFor({AddressOf(*first), AddressOf(second)});
  options.shared_memory = Shared(4 << 20);
  const auto client = *Client::Create(options);
  const std::vector<uint32_t> tokens = SomeTokens(second, 100);
  const std::string wanted = second.ExpectedRows(tokens, v1::ROW_FORMAT_PACKED);
  TrackedStep step;
  step.request = StepOf(tokens);
  const StepResult before = client->Run(step, {absl::Seconds(60)});
  EXPECT_TRUE(before.through_shared_memory);
  first.reset();
  const StepResult after = client->Run(step, {absl::Seconds(60)});
  EXPECT_TRUE(after.through_shared_memory);
  EXPECT_EQ(BytesOf(after), wanted);
  EXPECT_EQ(BytesOf(before), wanted) << "of a server that is gone";
  EXPECT_EQ(NamesLeft(), 0u);
}

}  // namespace
}  // namespace engram
