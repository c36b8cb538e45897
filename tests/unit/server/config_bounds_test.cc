// Bounds of the configuration, alone and for a model; its views for other parts.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/server/config_fixture.h"

namespace engram {
namespace {

using ::testing::HasSubstr;

absl::Status RepeatedRowsOf(const std::string& sharding) {
  auto config = ParseConfig("sharding { " + sharding + " }", "x");
  EXPECT_TRUE(config.ok()) << config.status();
  FillDefaults(*config);
  return ValidateConfig(*config);
}

TEST(ConfigBounds, RepeatedRowsAreGatheredEachTimeOnGpus) {
  EXPECT_THAT(Message(RepeatedRowsOf("repeated_rows: 9")),
              HasSubstr("sharding.repeated_rows = 9: must be GATHER_ONCE or GATHER_EACH"));
  const char* const why = "sharding.repeated_rows = GATHER_ONCE: must be GATHER_EACH where layers are DEVICE";
  EXPECT_THAT(Message(RepeatedRowsOf("repeated_rows: GATHER_ONCE placement: DEVICE")), HasSubstr(why));
  EXPECT_THAT(
      Message(RepeatedRowsOf("repeated_rows: GATHER_ONCE layer_placements { layer: 1 placement: HOST_PINNED }")),
      HasSubstr(why));
  EXPECT_TRUE(RepeatedRowsOf("repeated_rows: GATHER_EACH placement: DEVICE").ok());
  EXPECT_TRUE(RepeatedRowsOf("repeated_rows: GATHER_ONCE").ok());
  v1::ServerConfig config = Defaults();
  EXPECT_EQ(config.sharding().repeated_rows(), v1::REPEATED_ROWS_DEFAULT) << "the engine's to choose";
  config.mutable_sharding()->set_placement(v1::DEVICE);
  FillDefaults(config);
  EXPECT_EQ(config.sharding().repeated_rows(), v1::GATHER_EACH);
}

TEST(ConfigBounds, NameFieldValueAndBound) {
  const BadText kBad[] = {
      {"sharding { shards: 0 }", "sharding.shards = 0: must be in [1, 1024]"},
      {"sharding { gather_threads: 0 }", "sharding.gather_threads = 0: must be in [1, 256], or absent"},
      {"sharding { gather_threads: 257 }", "sharding.gather_threads = 257: must be in [1, 256], or absent"},
      {"sharding { round_timeout_ms: 9 }", "sharding.round_timeout_ms = 9: must be in [10, 3600000]"},
      {"sessions { sessions_max: 0 }", "sessions.sessions_max = 0: must be in [1, 16777216]"},
      {"streams { frame_bytes_max: 65535 }", "streams.frame_bytes_max = 65535: must be in [65536, 4194304]"},
      {"streams { frame_bytes_max: 4194305 }", "streams.frame_bytes_max = 4194305: must be in [65536, 4194304]"},
      {"streams { segments_max: 0 }", "streams.segments_max = 0: must be in [1, 1048576]"},
      {"streams { step_tokens_max: 100 }",
       "streams.lookup_tokens_max = 128: must be at most streams.step_tokens_max 100"},
      {"streams { unsent_bytes_max: 65536 }",
       "streams.unsent_bytes_max = 65536: must be at least streams.frame_bytes_max 1048576"},
      {"sessions { history_bytes_max: 1048576 } streams { step_tokens_max: 131073 }",
       "sessions.history_bytes_max = 1048576: must be at least 8 * streams.step_tokens_max = 1048584"},
      {"sessions { client_share_percent: 0 }", "sessions.client_share_percent = 0: must be in [1, 100]"},
      {"sessions { client_share_percent: 101 }", "sessions.client_share_percent = 101: must be in [1, 100]"},
      {"sessions { history_bytes_max: 1048576 client_share_percent: 49 }",
       "sessions.client_share_percent = 49: must be enough for 8 * streams.step_tokens_max = 524288 bytes of "
       "sessions.history_bytes_max 1048576"},
      {"streams { hello_timeout_ms: 9 }", "streams.hello_timeout_ms = 9: must be in [10, 3600000]"},
      {"sharding { combine: 9 }", "sharding.combine = 9: must be ALL_REDUCE_BF16, ALL_REDUCE_PACKED or OWNER_GATHER"},
      {"sharding { placement: 9 }", "sharding.placement = 9: must be HOST, MAPPED, DEVICE or HOST_PINNED"},
      {"sharding { layer_placements { placement: HOST } }",
       "sharding.layer_placements[0].layer = absent: must be a decoder layer id"},
      {"sharding { layer_placements { layer: 1 } }",
       "sharding.layer_placements[0].placement = 0: must be HOST, MAPPED, DEVICE or HOST_PINNED"},
      {"sharding { layer_placements { layer: 1 placement: HOST } layer_placements { layer: 1 placement: MAPPED } }",
       "sharding.layer_placements[1].layer = 1: must be in the list once"},
      {"listen { address: \"\" }", "listen.address: \"\" is no HOST:PORT: the port is missing"},
      {"listen { address: \"localhost:65536\" }", "the port must be a number in [0, 65535]"},
      {"logging { level: \"loud\" }", "logging.level = \"loud\": must be trace, debug, info, warning or error"},
      {"logging { level: \"\" }", "logging.level = \"\": must be trace"},
      {"scheduling { drain_timeout_ms: 0 }", "scheduling.drain_timeout_ms = 0: must be in [1, 3600000]"},
  };
  for (const BadText& bad : kBad) {
    auto config = ParseConfig(bad.text, "x");
    ASSERT_TRUE(config.ok()) << config.status();
    FillDefaults(*config);
    const absl::Status status = ValidateConfig(*config);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << bad.text;
    EXPECT_THAT(Message(status), HasSubstr(bad.message)) << bad.text;
  }
  v1::ServerConfig config = Defaults();
  config.mutable_model()->set_name(std::string(257, 'n'));
  EXPECT_THAT(Message(ValidateConfig(config)), HasSubstr("model.name = 257 bytes: must be at most 256 bytes"));
  config.mutable_model()->set_name("M\xff");
  EXPECT_THAT(Message(ValidateConfig(config)), HasSubstr("model.name = \"M\\377\": must be UTF-8"));
  config.mutable_model()->set_name("M\xc3\xa4");
  EXPECT_TRUE(ValidateConfig(config).ok());
}

TEST(ConfigForModel, DefaultsFitTheReleasedModel) {
  EXPECT_TRUE(ValidateForModel(Defaults(), FullSize(), 1).ok());
  EXPECT_TRUE(ValidateForModel(Defaults(), FullSize(), 7).ok());
}

TEST(ConfigForModel, OneTokenMustFitEverywhere) {
  Geometry wide = FullSize();
  wide.head_dim = 65536;  // 24 rows of 131072 bytes
  v1::ServerConfig config = Defaults();
  EXPECT_THAT(
      Message(ValidateForModel(config, wide, 1)),
      HasSubstr("streams.frame_bytes_max = 1048576: must be at least 3145984 for this model (one token's rows of "
                "a layer are 3145728 bytes as bf16)"));
  config.mutable_streams()->set_frame_bytes_max(3145984);
  config.mutable_scheduling()->set_round_bytes_max(3145727);
  EXPECT_THAT(Message(ValidateForModel(config, wide, 1)),
              HasSubstr("scheduling.round_bytes_max = 3145727: must be at least 3145728"));
  config.mutable_scheduling()->set_round_bytes_max(3145728);
  config.mutable_streams()->set_bytes_in_flight_max(6291455);
  EXPECT_THAT(Message(ValidateForModel(config, wide, 1)),
              HasSubstr("streams.bytes_in_flight_max = 6291455: must be at least 6291456"));
  config = Defaults();
  config.mutable_streams()->set_lookup_tokens_max(169);
  EXPECT_THAT(Message(ValidateForModel(config, FullSize(), 1)),
              HasSubstr("streams.lookup_tokens_max = 169: must be at most 168 for this model"));
}

TEST(ConfigForModel, ShardsAreNotAskedOfALauncher) {
  v1::ServerConfig config = Defaults();
  config.mutable_sharding()->set_shards(4);
  EXPECT_TRUE(ValidateForModel(config, FullSize(), 4).ok());
  EXPECT_THAT(Message(ValidateForModel(config, FullSize(), 2)),
              HasSubstr("sharding.shards = 4: must be absent or 1 where a launcher started the ranks (2)"));
}

TEST(ConfigForModel, LayerPlacementsNameLayersOfOneSide) {
  const BadText kBad[] = {
      {"sharding { layer_placements { layer: 2 placement: HOST } }",
       "sharding.layer_placements[0].layer = 2: must be one of the model's Engram layers 1, 14"},
      {"sharding { placement: DEVICE layer_placements { layer: 14 placement: HOST } }",
       "layer 1 is DEVICE and layer 14 HOST: must be all DEVICE or HOST_PINNED, or all HOST or MAPPED"},
  };
  for (const BadText& bad : kBad) {
    auto config = ParseConfig(bad.text, "x");
    ASSERT_TRUE(config.ok()) << config.status();
    FillDefaults(*config);
    ASSERT_TRUE(ValidateConfig(*config).ok());
    EXPECT_THAT(Message(ValidateForModel(*config, FullSize(), 1)), HasSubstr(bad.message));
  }
}

TEST(ConfigViews, PlacementsAreByLayer) {
  auto config =
      ParseConfig("sharding { placement: DEVICE layer_placements { layer: 14 placement: HOST_PINNED } }", "x");
  ASSERT_TRUE(config.ok()) << config.status();
  FillDefaults(*config);
  ASSERT_TRUE(ValidateConfig(*config).ok());
  EXPECT_TRUE(ValidateForModel(*config, FullSize(), 1).ok());
  const EngineOptions options = EngineOptionsOf(*config, FullSize());
  EXPECT_EQ(options.PlacementOf(0), Placement::kDevice);
  EXPECT_EQ(options.PlacementOf(1), Placement::kHostPinned);
  EXPECT_TRUE(options.OnGpu());
  EXPECT_EQ(options.gather_threads, 0);  // absent: the rank decides
  config->mutable_scheduling()->set_round_bytes_max(100 << 20);
  EXPECT_EQ(EngineOptionsOf(*config, FullSize()).reply_bytes, 400u << 20);
}

TEST(ConfigViews, CarryTheFields) {
  auto config = ParseConfig(
      "sharding { combine: ALL_REDUCE_BF16 placement: HOST round_timeout_ms: 20 heartbeat_ms: 30 "
      "load_timeout_ms: 4000 gather_threads: 5 } scheduling { round_bytes_max: 264000 } "
      "sessions { history_bytes_max: 2000000 tokens_max: 77 sessions_max: 5 client_share_percent: 30 }",
      "x");
  ASSERT_TRUE(config.ok());
  FillDefaults(*config);
  const EngineOptions options = EngineOptionsOf(*config, FullSize());
  EXPECT_EQ(options.combine, CombineMode::kAllReduceBf16);
  EXPECT_EQ(options.placement, Placement::kHost);
  EXPECT_EQ(options.round_rows_max, 1000u);
  EXPECT_EQ(options.reply_bytes, 64u << 20);
  EXPECT_EQ(options.round_timeout, absl::Milliseconds(20));
  EXPECT_EQ(options.heartbeat, absl::Milliseconds(30));
  EXPECT_EQ(options.load_timeout, absl::Seconds(4));
  EXPECT_EQ(options.gather_threads, 5);
  const SessionLimits limits = SessionLimitsOf(*config);
  EXPECT_EQ(limits.history_bytes_max, 2000000u);
  EXPECT_EQ(limits.tokens_max, 77u);
  EXPECT_EQ(limits.sessions_max, 5u);
  EXPECT_EQ(limits.client_share_percent, 30u);
}

}  // namespace
}  // namespace engram
