#include "client/tool/token_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/tool/number_option.h"
#include "client/tool/report.h"

namespace engram {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

void ExpectError(const absl::Status& status, const std::string& words) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr(words));
}

TEST(ParseTokenIdsTest, TakesCommasAndSpaces) {
  EXPECT_THAT(*ParseTokenIds("1,2,3", "--tokens"), ElementsAre(1, 2, 3));
  EXPECT_THAT(*ParseTokenIds(" 1 , 2\t4294967295\n", "--tokens"), ElementsAre(1, 2, 4294967295u));
  EXPECT_THAT(*ParseTokenIds("", "--tokens"), IsEmpty());
}

TEST(ParseTokenIdsTest, NamesTheEntry) {
  ExpectError(ParseTokenIds("1,x2,3", "--tokens").status(), "--tokens: entry 1 is 'x2'");
  ExpectError(ParseTokenIds("1,-2", "--tokens").status(), "entry 1 is '-2'");
  ExpectError(ParseTokenIds("4294967296", "--tokens").status(), "from 0 to 4294967295");
  ExpectError(ParseTokenIds("1.5", "--tokens").status(), "'1.5'");
  ExpectError(ParseTokenIds("1,,2", "--tokens").status(), "--tokens: entry 1 is empty");
  ExpectError(ParseTokenIds("1,2, ", "--tokens").status(), "--tokens: entry 2 is empty");
  ExpectError(ParseTokenIds(",1", "--tokens").status(), "--tokens: entry 0 is empty");
}

TEST(ParseMaskTest, NeedsOneBitAToken) {
  EXPECT_THAT(*ParseMask("1,0,1", 3, "--mask"), ElementsAre(1, 0, 1));
  EXPECT_THAT(*ParseMask("", 3, "--mask"), IsEmpty());
  ExpectError(ParseMask("1,0", 3, "--mask").status(), "--mask: has 2 entries for 3 tokens");
  ExpectError(ParseMask("1,2,1", 3, "--mask").status(), "entry 1 is 2; it must be 0 or 1");
}

TEST(ParseSequencesTest, ReadsJsonLines) {
  const auto sequences = ParseSequences(
      "{\"name\": \"a\", \"language\": \"en\", \"origin\": \"x\", \"tokens\": [1, 2]}\n\n"
      "{\"tokens\": [3, 4294967295], \"mask\": [1, 0]}\n",
      "f.jsonl");
  ASSERT_TRUE(sequences.ok()) << sequences.status();
  ASSERT_EQ(sequences->size(), 2u);
  EXPECT_EQ((*sequences)[0].name, "a");
  EXPECT_EQ((*sequences)[0].language, "en");
  EXPECT_THAT((*sequences)[0].tokens, ElementsAre(1, 2));
  EXPECT_THAT((*sequences)[0].mask, IsEmpty());
  EXPECT_THAT((*sequences)[1].mask, ElementsAre(1, 0));
}

TEST(ParseSequencesTest, ReadsBareIds) {
  const auto sequences = ParseSequences("1 2\n3,4\n", "f.txt");
  ASSERT_TRUE(sequences.ok()) << sequences.status();
  ASSERT_EQ(sequences->size(), 1u);
  EXPECT_THAT((*sequences)[0].tokens, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(ParseSequences("1, 2,\n3,\r\n", "f.txt")->front().tokens, ElementsAre(1, 2, 3));
  ExpectError(ParseSequences("1, 2,\n3,,\n", "f.txt").status(), "f.txt:2: entry 1 is empty");
}

TEST(WholeNumberTest, NamesTheTextAndTheBounds) {
  const auto check = [](const std::string& text) { return WholeNumber(1, 999)(text); };
  EXPECT_EQ(check("1"), "");
  EXPECT_EQ(check("999"), "");
  for (const char* text : {"0", "1000", "-1", "1.5", "x", "", "18446744073709551617"}) {
    EXPECT_EQ(check(text), std::string("'") + text + "' is no whole number from 1 to 999");
  }
  EXPECT_EQ(WholeNumber(0)(std::string("18446744073709551615")), "");
  EXPECT_EQ(WholeNumber(0)(std::string("18446744073709551616")),
            "'18446744073709551616' is no whole number from 0 to 18446744073709551615");
}

TEST(ParseSequencesTest, NamesTheLine) {
  const std::string good = "{\"tokens\": [1]}\n";
  const auto error = [&good](const std::string& line) { return ParseSequences(good + line, "f").status(); };
  ExpectError(error("{\"tokens\": [1"), "f:2: is not JSON");
  ExpectError(error("[1, 2]"), "f:2: holds an array, not an object");
  ExpectError(error("{\"tokens\": [1], \"tokens\": [2]}"), "f:2: key \"tokens\" occurs twice");
  ExpectError(error("{\"ids\": [1]}"), "f:2: tokens must be an array");
  ExpectError(error("{\"tokens\": 1}"), "f:2: tokens must be an array");
  ExpectError(error("{\"tokens\": [1, -1]}"), "f:2: tokens[1] is -1");
  ExpectError(error("{\"tokens\": [1, 1.5]}"), "f:2: tokens[1] is 1.5");
  ExpectError(error("{\"tokens\": [1, \"\xC3\xA9\"]}"), "f:2: tokens[1] is \"\\u00e9\"");
  ExpectError(error("{\"tokens\": [4294967296]}"), "from 0 to 4294967295");
  ExpectError(error("{\"tokens\": [1], \"mask\": [1, 1]}"), "f:2: mask has 2 entries for 1 tokens");
  ExpectError(error("{\"tokens\": [1], \"mask\": [2]}"), "f:2: mask[0] is 2");
  ExpectError(error("{\"tokens\": [1], \"name\": 5}"), "f:2: name must be a string");
  ExpectError(ParseSequences("1 2\n3 x\n", "f").status(), "f:2: entry 1 is 'x'");
  ExpectError(ParseSequences("", "f").status(), "f: holds no tokens");
}

TEST(ReadSequencesTest, NamesAMissingFile) {
  const absl::Status status = ReadSequences("/nowhere/f.jsonl").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("/nowhere/f.jsonl"));
}

TEST(ParseRowFormatsTest, TakesEachOnce) {
  EXPECT_THAT(*ParseRowFormats("bf16,packed,bf16"), ElementsAre(v1::ROW_FORMAT_BF16, v1::ROW_FORMAT_PACKED));
  EXPECT_EQ(*ParseRowFormat("hash_ids"), v1::ROW_FORMAT_HASH_IDS);
  ExpectError(ParseRowFormats("bf16,fp8").status(), "format 'fp8' is none of packed, bf16, hash_ids");
}

}  // namespace
}  // namespace engram
