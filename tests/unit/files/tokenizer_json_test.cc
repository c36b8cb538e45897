#include "model/files/tokenizer_json.h"

#include <nlohmann/json.hpp>

#include "gtest/gtest.h"
#include "tests/unit/files/temp_folder.h"

namespace engram {
namespace {

using Json = nlohmann::json;

// The texts are what the tokenizers library (0.23.3) returns for decode([id], skip_special_tokens=False).
TEST(ReadTokenizer, DecodesEachIdAlone) {
  const Json tokenizer = {
      {"model", {{"type", "BPE"}, {"vocab", {{"a", 0}, {"Ã©", 1}, {"é世", 2}, {"Ġx", 3}, {"Ã", 4}}}}},
      {"added_tokens",
       {{{"id", 7}, {"content", "a é"}, {"special", true}},
        {{"id", 5}, {"content", "é"}, {"special", false}},
        {{"id", 6}, {"content", "<｜end▁of▁sentence｜>"}, {"special", true}},
        {{"id", 0}, {"content", "a"}, {"special", true}}}},
      {"decoder", {{"type", "ByteLevel"}, {"add_prefix_space", true}}}};
  const TempFolder folder;
  const auto tokens = ReadTokenizer(folder.Write("tokenizer.json", tokenizer.dump()));
  ASSERT_TRUE(tokens.ok()) << tokens.status();
  const std::pair<const char*, const char*> expected[] = {{"a", "a"},
                                                          {"Ã©", "é"},
                                                          {"é世", "é世"},
                                                          {"Ġx", " x"},
                                                          {"Ã", "\uFFFD"},
                                                          {"é", "\uFFFD"},
                                                          {"<｜end▁of▁sentence｜>", "<｜end▁of▁sentence｜>"},
                                                          {"a é", "a é"}};
  ASSERT_EQ(tokens->size(), std::size(expected));
  for (size_t id = 0; id < tokens->size(); ++id) {
    EXPECT_EQ((*tokens)[id].raw, expected[id].first) << id;
    EXPECT_EQ((*tokens)[id].text, expected[id].second) << id;
  }
}

TEST(ReadTokenizer, TakesByteLevelInsideASequence) {
  const Json tokenizer = {{"model", {{"vocab", {{"Ġ", 0}}}}},
                          {"decoder", {{"type", "Sequence"}, {"decoders", {{{"type", "ByteLevel"}}}}}}};
  const TempFolder folder;
  const auto tokens = ReadTokenizer(folder.Write("tokenizer.json", tokenizer.dump()));
  ASSERT_TRUE(tokens.ok()) << tokens.status();
  EXPECT_EQ(tokens->at(0).text, " ");
}

}  // namespace
}  // namespace engram
