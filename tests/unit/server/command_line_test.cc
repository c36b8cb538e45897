// Flags, their order over the file, and HOST:PORT.

#include "server/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "server/host_port.h"

namespace engram {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

absl::StatusOr<CommandLine> Parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "engram-server");
  return ParseCommandLine(static_cast<int>(arguments.size()), arguments.data());
}

TEST(CommandLine, FlagsStandForFields) {
  const auto line = Parse({"--checkpoint",
                           "/m",
                           "--hash-constants=/c.gguf",
                           "--listen",
                           "[::1]:0",
                           "--port-file",
                           "p",
                           "--pid-file",
                           "i",
                           "--shards",
                           "4",
                           "--combine",
                           "ALL_REDUCE_PACKED",
                           "--placement",
                           "HOST",
                           "--log-level",
                           "debug",
                           "--set",
                           "model.name=x",
                           "--config",
                           "f.txtpb",
                           "--set=sharding.shards=2",
                           "--print-config"});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_THAT(
      line->overrides,
      ElementsAre("model.checkpoint=/m", "model.hash_constants=/c.gguf", "listen.address=[::1]:0", "listen.port_file=p",
                  "listen.pid_file=i", "sharding.shards=4", "sharding.combine=ALL_REDUCE_PACKED",
                  "sharding.placement=HOST", "logging.level=debug", "model.name=x", "sharding.shards=2"));
  EXPECT_EQ(line->config_file, "f.txtpb");
  EXPECT_TRUE(line->print_config);
  EXPECT_FALSE(line->print_help || line->print_version);
}

TEST(CommandLine, NothingIsNeeded) {
  const auto line = Parse({});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_THAT(line->overrides, IsEmpty());
  EXPECT_THAT(line->help, HasSubstr("--hash-constants"));
}

TEST(CommandLine, HelpAndVersionAreSeenFirst) {
  EXPECT_TRUE(Parse({"--help", "--shards", "x"})->print_help);
  EXPECT_TRUE(Parse({"-h"})->print_help);
  EXPECT_TRUE(Parse({"--version"})->print_version);
}

struct BadLine {
  std::vector<const char*> arguments;
  const char* message;
};

TEST(CommandLine, FaultsAreNamed) {
  const BadLine kBad[] = {
      {{"--shard", "2"}, "--shard"},
      {{"extra"}, "extra"},
      {{"--checkpoint"}, "--checkpoint"},
      {{"--set"}, "--set"},
      {{"--shards", "2", "--shards", "3"}, "--shards"},
      {{"--shards", "two"}, "\"sharding.shards=two\": must be a decimal number"},
      {{"--shards", "-1"}, "sharding.shards"},
      {{"--combine", "GATHER"},
       "must be one of COMBINE_MODE_DEFAULT, ALL_REDUCE_BF16, ALL_REDUCE_PACKED, OWNER_GATHER"},
      {{"--placement", "GPU"}, "must be one of PLACEMENT_DEFAULT, HOST, MAPPED, DEVICE, HOST_PINNED"},
      {{"--listen", "localhost"}, "\"localhost\" is no HOST:PORT: the port is missing"},
      {{"--listen", "::1:50061"}, "an IPv6 address in brackets"},
      {{"--set", "streams.nothing=1"}, "StreamLimits has no field \"nothing\""},
      {{"--set", "a", "b"}, "b"},
  };
  for (const BadLine& bad : kBad) {
    const auto line = Parse(bad.arguments);
    EXPECT_EQ(line.status().code(), absl::StatusCode::kInvalidArgument) << bad.message;
    EXPECT_THAT(std::string(line.status().message()), HasSubstr(bad.message));
  }
}

TEST(CommandLine, SetGoesOverFlagsAndFlagsOverTheFile) {
  const std::string path = ::testing::TempDir() + "/command_line_test.txtpb";
  std::ofstream(path) << "model { checkpoint: \"/file\" name: \"file\" } sharding { shards: 2 }\n"
                         "streams { segments_max: 9 }\n";
  const auto line = Parse({"--set", "model.name=set", "--config", path.c_str(), "--checkpoint", "/flag", "--shards",
                           "3", "--set", "sharding.shards=4"});
  ASSERT_TRUE(line.ok()) << line.status();
  const auto config = EffectiveConfig(*line);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->model().checkpoint(), "/flag");
  EXPECT_EQ(config->model().name(), "set");
  EXPECT_EQ(config->sharding().shards(), 4u);
  EXPECT_EQ(config->streams().segments_max(), 9u);
  EXPECT_EQ(config->streams().step_tokens_max(), 65536u);
}

TEST(CommandLine, AnEffectiveConfigurationIsChecked) {
  const absl::Status none = EffectiveConfig(*Parse({})).status();
  EXPECT_EQ(none, absl::InvalidArgumentError("model.checkpoint is empty: name a checkpoint with --checkpoint PATH"));
  EXPECT_TRUE(EffectiveConfig(*Parse({"--print-config"})).ok());
  const absl::Status bound = EffectiveConfig(*Parse({"--checkpoint", "/m", "--shards", "0"})).status();
  EXPECT_EQ(bound, absl::InvalidArgumentError("sharding.shards = 0: must be in [1, 1024]"));
  EXPECT_EQ(EffectiveConfig(*Parse({"--config", "/nowhere"})).status().code(), absl::StatusCode::kNotFound);
}

TEST(HostPort, TakesNamesAndAddresses) {
  for (const char* text : {"127.0.0.1:50061", "localhost:0", "[::1]:0", "[fe80::1]:65535", "a-b.example:1"}) {
    const auto parsed = ParseHostPort(text);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(parsed->ToString(), text);
  }
  EXPECT_EQ(ParseHostPort("[::1]:70")->host, "[::1]");
  EXPECT_EQ(ParseHostPort("[::1]:70")->port, 70);
}

TEST(HostPort, RefusesWhatIsNone) {
  const std::pair<const char*, const char*> kBad[] = {
      {"", "port is missing"},           {"localhost", "port is missing"},
      {"[::1]", "port is missing"},      {":80", "host is missing"},
      {"a:", "in [0, 65535]"},           {"a:65536", "in [0, 65535]"},
      {"a:999999", "in [0, 65535]"},     {"a:-1", "in [0, 65535]"},
      {"a: 1", "in [0, 65535]"},         {"::1:80", "IPv6 address in brackets"},
      {"[]:80", "in brackets"},          {"[::1:80", "in brackets"},
      {"[localhost]:80", "in brackets"}, {"a b:80", "must be a name"},
      {"http://a:80", "must be a name"},
  };
  for (const auto& [text, message] : kBad) {
    const absl::Status status = ParseHostPort(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr(message)) << text;
  }
  EXPECT_FALSE(ParseHostPort(std::string(256, 'a') + ":80").ok());
  EXPECT_FALSE(ParseHostPort(std::string("a\0b:80", 6)).ok());
}

}  // namespace
}  // namespace engram
