// Reading, changing, completing and checking the configuration.

#include "server/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "google/protobuf/util/message_differencer.h"
#include "tests/unit/server/config_fixture.h"

namespace engram {
namespace {

using google::protobuf::util::MessageDifferencer;
using ::testing::HasSubstr;

TEST(ConfigText, ParsesFieldsCommentsAndNames) {
  const auto config =
      ParseConfig("# a comment\nmodel { checkpoint: \"/m\" }\nsharding { combine: ALL_REDUCE_BF16 }", "x");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->model().checkpoint(), "/m");
  EXPECT_EQ(config->sharding().combine(), v1::ALL_REDUCE_BF16);
  EXPECT_FALSE(config->sharding().has_shards());
  EXPECT_TRUE(ParseConfig("", "x").ok());
}

TEST(ConfigText, FaultsCarryFileLineAndColumn) {
  const BadText kBad[] = {
      {"model {\n  chekpoint: \"/m\"\n}", "a.txtpb:2:12: Message type \"engram.v1.ModelSource\" has no field named"},
      {"\nmodle {}", "a.txtpb:2:7: "},
      {"sharding {\n  shards: two\n}", "a.txtpb:2:11: "},
      {"sharding { shards: -1 }", "a.txtpb:1:20: "},
      {"sharding { shards: 4294967296 }", "a.txtpb:1:20: Integer out of range"},
      {"sharding { combine: GATHER }", "a.txtpb:1:28: Unknown enumeration value of \"GATHER\""},
      {"sharding { shards: 1 shards: 2 }", "a.txtpb:1:28: Non-repeated field \"shards\" is specified multiple times"},
      {"model { checkpoint: \"/m }", "a.txtpb:1:2"},
      {"model {", "a.txtpb:1:8: "},
      {"model { checkpoint: 5 }", "a.txtpb:1:21: Expected string"},
  };
  for (const BadText& bad : kBad) {
    const absl::Status status = ParseConfig(bad.text, "a.txtpb").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << bad.text;
    EXPECT_THAT(Message(status), HasSubstr(bad.message)) << bad.text;
  }
  EXPECT_THAT(Message(ParseConfig(std::string((1 << 20) + 1, '#'), "big").status()), HasSubstr("at most 1048576"));
}

TEST(ConfigText, FilesThatCannotBeReadAreNamed) {
  const absl::Status missing = LoadConfig("/nowhere/engram.txtpb").status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(missing), HasSubstr("/nowhere/engram.txtpb"));
  EXPECT_EQ(LoadConfig(ENGRAM_SOURCE_DIR "/configs").status().code(), absl::StatusCode::kNotFound);
}

TEST(ConfigPath, SetsNumbersNamesAndTexts) {
  v1::ServerConfig config;
  EXPECT_TRUE(SetByPath(config, "streams.frame_bytes_max=65536").ok());
  EXPECT_TRUE(SetByPath(config, "sessions.history_bytes_max=18446744073709551615").ok());
  EXPECT_TRUE(SetByPath(config, "sharding.combine=ALL_REDUCE_PACKED").ok());
  EXPECT_TRUE(SetByPath(config, "model.name=a=b c").ok());
  EXPECT_TRUE(SetByPath(config, "listen.port_file=").ok());
  EXPECT_EQ(config.streams().frame_bytes_max(), 65536u);
  EXPECT_EQ(config.sessions().history_bytes_max(), 18446744073709551615u);
  EXPECT_EQ(config.sharding().combine(), v1::ALL_REDUCE_PACKED);
  EXPECT_EQ(config.model().name(), "a=b c");
  EXPECT_EQ(config.listen().port_file(), "");
}

TEST(ConfigPath, FaultsNameWhatExistsThere) {
  const BadText kBad[] = {
      {"streams.frame_bytes_max", "\"streams.frame_bytes_max\": must be path=value"},
      {"stream.frame_bytes_max=1", "ServerConfig has no field \"stream\", but model, sharding, listen, sessions"},
      {"streams.frame_bytes=1", "StreamLimits has no field \"frame_bytes\", but streams_max, steps_in_flight_max"},
      {"streams=1", "\"streams=1\": names a group: add one of its fields streams_max"},
      {"streams.frame_bytes_max.x=1", "\"frame_bytes_max\" is a value and has no fields"},
      {"=1", "has no field \"\""},
      {"streams.=1", "StreamLimits has no field \"\""},
      {"streams.frame_bytes_max=4294967296", "must be a decimal number in [0, 4294967295]"},
      {"sessions.tokens_max=18446744073709551616", "must be a decimal number in [0, 18446744073709551615]"},
      {"sessions.tokens_max=-1", "must be a decimal number"},
      {"sessions.tokens_max= 1", "must be a decimal number"},
      {"sessions.tokens_max=1k", "must be a decimal number"},
      {"sessions.tokens_max=", "must be a decimal number"},
      {"sharding.placement=host", "must be one of PLACEMENT_DEFAULT, HOST, MAPPED, DEVICE, HOST_PINNED"},
      {"sharding.placement=1", "must be one of PLACEMENT_DEFAULT, HOST, MAPPED, DEVICE, HOST_PINNED"},
      {"sharding.layer_placements=1", "\"layer_placements\" is a list: it can be given in a configuration file only"},
      {"sharding.layer_placements.layer=1", "\"layer_placements\" is a list"},
  };
  for (const BadText& bad : kBad) {
    v1::ServerConfig config;
    const absl::Status status = SetByPath(config, bad.text);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << bad.text;
    EXPECT_THAT(Message(status), HasSubstr(bad.message)) << bad.text;
  }
}

// A GPU rank's fastest combine is another than a CPU rank's; a mode that is given stays.
TEST(ConfigDefaults, CombineFollowsThePlacement) {
  const struct {
    const char* text;
    v1::CombineMode combine;
  } kCases[] = {
      {"sharding { placement: HOST }", v1::OWNER_GATHER},
      {"sharding { placement: DEVICE }", v1::ALL_REDUCE_PACKED},
      {"sharding { placement: HOST_PINNED }", v1::ALL_REDUCE_PACKED},
      {"sharding { layer_placements { layer: 1 placement: DEVICE } }", v1::ALL_REDUCE_PACKED},
      {"sharding { placement: DEVICE combine: OWNER_GATHER }", v1::OWNER_GATHER},
  };
  for (const auto& example : kCases) {
    auto config = ParseConfig(example.text, "x");
    ASSERT_TRUE(config.ok()) << config.status();
    FillDefaults(*config);
    EXPECT_EQ(config->sharding().combine(), example.combine) << example.text;
  }
}

TEST(ConfigDefaults, AreThoseOfTheSchema) {
  const v1::ServerConfig config = Defaults();
  EXPECT_EQ(PrintConfig(config), R"(model {
}
sharding {
  shards: 1
  combine: OWNER_GATHER
  placement: MAPPED
  round_timeout_ms: 10000
  heartbeat_ms: 1000
  load_timeout_ms: 3600000
}
listen {
  address: "127.0.0.1:50061"
}
sessions {
  history_bytes_max: 1073741824
  tokens_max: 1048576
  sessions_max: 65536
  client_share_percent: 50
}
streams {
  streams_max: 1024
  steps_in_flight_max: 64
  bytes_in_flight_max: 1073741824
  unsent_bytes_max: 16777216
  segments_max: 4096
  step_tokens_max: 65536
  lookup_tokens_max: 128
  frame_bytes_max: 1048576
  hello_timeout_ms: 10000
}
scheduling {
  round_bytes_max: 4194304
  decode_tokens_max: 64
  queue_steps_max: 4096
  drain_timeout_ms: 30000
}
logging {
  level: "info"
}
shared_memory {
  enabled: false
  segment_bytes_max: 1073741824
  segments_max: 4
  name_prefix: "/engram-"
}
)");
  EXPECT_TRUE(ValidateConfig(config).ok()) << ValidateConfig(config);
}

TEST(ConfigDefaults, ReplaceNothingThatWasGiven) {
  auto config = ParseConfig("sharding { placement: HOST shards: 3 } scheduling { decode_tokens_max: 0 }", "x");
  ASSERT_TRUE(config.ok());
  FillDefaults(*config);
  EXPECT_EQ(config->sharding().placement(), v1::HOST);
  EXPECT_EQ(config->sharding().shards(), 3u);
  EXPECT_EQ(config->scheduling().decode_tokens_max(), 0u);
}

TEST(ShippedConfigs, LoadAndPrintBack) {
  std::set<std::string> seen;
  for (const auto& entry : std::filesystem::directory_iterator(ENGRAM_SOURCE_DIR "/configs")) {
    SCOPED_TRACE(entry.path());
    auto config = LoadConfig(entry.path());
    ASSERT_TRUE(config.ok()) << config.status();
    FillDefaults(*config);
    EXPECT_TRUE(ValidateConfig(*config).ok()) << ValidateConfig(*config);
    EXPECT_TRUE(ValidateForModel(*config, FullSize(), config->sharding().shards()).ok());
    const auto again = ParseConfig(PrintConfig(*config), "printed");
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_TRUE(MessageDifferencer::Equals(*config, *again));
    seen.insert(entry.path().filename());
  }
  EXPECT_EQ(seen, (std::set<std::string>{"cpu_ranks.txtpb", "cpu_shared_memory.txtpb", "cpu_single.txtpb",
                                         "gpu_local.txtpb", "gpu_ranks.txtpb", "gpu_single.txtpb",
                                         "packed_all_reduce.txtpb", "reference_all_reduce.txtpb"}));
}

TEST(ShippedConfigs, CombineAsTheyAreNamed) {
  const auto combine = [](const std::string& file) {
    return LoadConfig(ENGRAM_SOURCE_DIR "/configs/" + file)->sharding().combine();
  };
  EXPECT_EQ(combine("cpu_ranks.txtpb"), v1::OWNER_GATHER);
  EXPECT_EQ(combine("gpu_ranks.txtpb"), v1::ALL_REDUCE_PACKED);
  EXPECT_EQ(combine("packed_all_reduce.txtpb"), v1::ALL_REDUCE_PACKED);
  EXPECT_EQ(combine("reference_all_reduce.txtpb"), v1::ALL_REDUCE_BF16);
}

}  // namespace
}  // namespace engram
