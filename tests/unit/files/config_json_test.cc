#include "model/files/config_json.h"

#include <nlohmann/json.hpp>

#include "gtest/gtest.h"
#include "model/files/checkpoint.h"
#include "tests/unit/files/sample_files.h"

namespace engram {
namespace {

using nlohmann::json;

absl::StatusOr<EngramConfig> Read(const json& config) {
  const TempFolder folder;
  return ReadEngramConfig(folder.Write("config.json", config.dump()));
}

// The keys of DeepSeek-V4.1-Flash.
json Released() {
  return {{"engram_layer_ids", {1, 14}},
          {"engram_num_embeddings", {384006168, 384016682}},
          {"engram_max_ngram_size", 4},
          {"engram_n_heads", 8},
          {"engram_head_dim", 256},
          {"engram_vocab_size", 16000000},
          {"engram_compressed_vocab_size", 99092},
          {"vocab_size", 129280}};
}

void ExpectReleased(const absl::StatusOr<EngramConfig>& config) {
  ASSERT_TRUE(config.ok()) << config.status();
  const Geometry expected = {{1, 14}, {384006168, 384016682}, 4, 8, 256, 129280, 99092};
  EXPECT_EQ(config->geometry, expected);
  EXPECT_EQ(config->engram_vocab_size, 16000000u);
  EXPECT_EQ(config->pad_token_id, 2u);
}

TEST(ReadEngramConfig, ReadsBothForms) {
  json flat = Released();
  flat["engram_pad_id"] = 2;
  ExpectReleased(Read(flat));
  json nested = Released();
  nested["engram_pad_token_id"] = 2;
  ExpectReleased(Read({{"model_type", "deepseek_v41"}, {"text_config", nested}}));
}

TEST(ReadEngramConfig, TakesKeysFromBothPlacesWhereTheyAgree) {
  json both = Released();
  both["engram_pad_id"] = 2;
  both["text_config"] = {{"engram_pad_token_id", 2}, {"engram_n_heads", 8}, {"hidden_size", 5120}};
  ExpectReleased(Read(both));
  both.erase("engram_n_heads");
  ExpectReleased(Read(both));
  both["text_config"] = nullptr;
  both["engram_n_heads"] = 8;
  ExpectReleased(Read(both));
}

TEST(ReadEngramConfig, NeedsThePadThatReadConfigFieldsDoesNot) {
  const TempFolder folder;
  const std::string path = folder.Write("config.json", Released().dump());
  const auto fields = ReadConfigFields(path);
  ASSERT_TRUE(fields.ok()) << fields.status();
  EXPECT_EQ(fields->pad_token_id, std::nullopt);
  EXPECT_EQ(ReadEngramConfig(path).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace engram
