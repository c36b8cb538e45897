// What the configuration says of shared memory.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/unit/server/config_fixture.h"

namespace engram {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ConfigSharedMemory, IsOffByDefault) {
  const SegmentRules rules = SegmentRulesOf(Defaults());
  EXPECT_FALSE(rules.enabled);
  EXPECT_EQ(rules.bytes_max, uint64_t{1} << 30);
  EXPECT_EQ(rules.segments_max, 4u);
  EXPECT_EQ(rules.name_prefix, "/engram-");
  EXPECT_TRUE(rules.owner_uids.empty());
}

TEST(ConfigSharedMemory, IsWhatIsGiven) {
  auto config = ParseConfig("shared_memory { segment_bytes_max: 65536 owner_uids: [7, 8] }", "x");
  ASSERT_TRUE(config.ok()) << config.status();
  for (const char* assignment :
       {"shared_memory.enabled=true", "shared_memory.name_prefix=/a", "shared_memory.segments_max=1"}) {
    EXPECT_TRUE(SetByPath(*config, assignment).ok()) << assignment;
  }
  FillDefaults(*config);
  EXPECT_TRUE(ValidateConfig(*config).ok());
  const SegmentRules rules = SegmentRulesOf(*config);
  EXPECT_TRUE(rules.enabled);
  EXPECT_EQ(rules.bytes_max, 65536u);
  EXPECT_EQ(rules.segments_max, 1u);
  EXPECT_EQ(rules.name_prefix, "/a");
  EXPECT_THAT(rules.owner_uids, ElementsAre(7, 8));
}

TEST(ConfigSharedMemory, BooleansAreWords) {
  v1::ServerConfig config;
  EXPECT_TRUE(SetByPath(config, "shared_memory.enabled=false").ok());
  EXPECT_TRUE(config.shared_memory().has_enabled());
  for (const char* assignment : {"shared_memory.enabled=1", "shared_memory.enabled=", "shared_memory.enabled=True"}) {
    EXPECT_THAT(Message(SetByPath(config, assignment)), HasSubstr("must be true or false")) << assignment;
  }
}

TEST(ConfigSharedMemory, BoundsAreNamed) {
  const BadText kBad[] = {
      {"shared_memory { segments_max: 0 }", "shared_memory.segments_max = 0: must be in [1, 1024]"},
      {"shared_memory { segment_bytes_max: 65535 }",
       "shared_memory.segment_bytes_max = 65535: must be in [65536, 1099511627776]"},
      {"shared_memory { name_prefix: \"\" }", "shared_memory.name_prefix = \"\": must be a slash and, without"},
      {"shared_memory { name_prefix: \"/\" }", "shared_memory.name_prefix = \"/\": must be a slash and, without"},
      {"shared_memory { name_prefix: \"/a/b\" }", "shared_memory.name_prefix = \"/a/b\": must be a slash"},
      {"shared_memory { name_prefix: \"engram\" }", "shared_memory.name_prefix = \"engram\": must be a slash"},
      {"shared_memory { name_prefix: \"/a\\000b\" }", "shared_memory.name_prefix = \"/a\\000b\": must be a slash"},
  };
  for (const BadText& bad : kBad) {
    auto config = ParseConfig(bad.text, "x");
    ASSERT_TRUE(config.ok()) << config.status();
    FillDefaults(*config);
    EXPECT_THAT(Message(ValidateConfig(*config)), HasSubstr(bad.message)) << bad.text;
  }
}

TEST(ShippedConfigs, OneAloneSharesMemory) {
  for (const auto& entry : std::filesystem::directory_iterator(ENGRAM_SOURCE_DIR "/configs")) {
    auto config = LoadConfig(entry.path());
    FillDefaults(*config);
    EXPECT_EQ(SegmentRulesOf(*config).enabled, entry.path().filename() == "cpu_shared_memory.txtpb") << entry.path();
  }
}

}  // namespace
}  // namespace engram
