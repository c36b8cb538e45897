#include "model/token_map.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace engram {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Case {
  const char* name;
  std::string text;
  std::string key;
};

class Key : public ::testing::TestWithParam<Case> {};

TEST_P(Key, IsAsWritten) {
  const absl::StatusOr<std::string> key = NormalizedKey({"raw", GetParam().text});
  ASSERT_TRUE(key.ok()) << key.status();
  EXPECT_EQ(*key, GetParam().key);
}

const Case kCases[] = {
    {"case", "Hello", "hello"},
    {"leading_space", " the", "the"},
    {"precomposed_accent", "Caf\u00E9", "cafe"},
    {"combining_accent", "Cafe\u0301", "cafe"},
    {"two_accents", "\u1EC6", "e"},
    {"enclosing_mark", "a\u20DD", "a"},          // Me
    {"spacing_mark", "\u0915\u0903", "\u0915"},  // Mc
    {"only_a_mark", "\u0301", "\u0301"},         // nothing is left: the text itself
    {"only_marks_and_spaces", " \u0301", " "},
    {"ligature", "\uFB01n", "fin"},
    {"full_width", "\uFF21\uFF22", "ab"},
    {"half_width_kana", "\uFF76\uFF9E", "\u30AB"},  // becomes one sign, and then loses its voicing mark
    {"roman_numeral", "\u2163", "iv"},
    {"circled_digit", "\u2460", "1"},
    {"square_unit", "\u338F", "kg"},
    {"angstrom_sign", "\u212B", "a"},
    {"dz_digraph", "\u01C4", "dz"},
    {"hangul_syllable", "\uD55C", "\u1112\u1161\u11AB"},
    {"sharp_s", "\u00DF", "\u00DF"},
    {"capital_sharp_s", "\u1E9E", "\u00DF"},
    {"dotted_capital_i", "\u0130", "i"},
    {"dotless_i", "\u0131", "\u0131"},
    {"sigma_at_the_end", "\u039F\u0394\u039F\u03A3", "\u03BF\u03B4\u03BF\u03C3"},  // never a final sigma
    {"final_sigma", "\u03C2", "\u03C2"},
    {"beyond_the_bmp", "\U00010400", "\U00010428"},
    {"mathematical_bold", "\U0001D400", "a"},
    {"emoji", "\U0001F600", "\U0001F600"},
    {"one_space", " ", " "},
    {"many_spaces", "    ", " "},
    {"line_ends", "\r\n\t", " "},
    {"inner_run", " a \r\n b\t", "a b"},
    {"no_break_space", "\u00A0", " "},
    {"ideographic_space", "\u3000", " "},
    {"ideographic_space_beside", "\u3000a\u3000", "a"},
    {"diaeresis_is_a_space_and_a_mark", "\u00A8", " "},
    {"next_line_stripped", "\u0085a\u0085", "a"},
    {"line_separator_stripped", "a\u2028", "a"},
    {"vertical_tab_kept_inside",
     "a\x0B"
     "b",
     "a\x0B"
     "b"},
    {"only_ogham_space", "\u1680", "\u1680"},  // stripped to nothing: the text itself
    {"zero_width_space_is_no_space", "\u200B", "\u200B"},
    {"nul", std::string("A\0B", 3), std::string("a\0b", 3)},
    {"nothing", "", ""},
    {"replacement_character", "\uFFFD", "raw"},
    {"replacement_character_inside", "A\uFFFD", "raw"},
};

INSTANTIATE_TEST_SUITE_P(Each, Key, ::testing::ValuesIn(kCases),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(NormalizedKey, RefusesWhatIsNotUtf8) {
  for (const char* text : {"\xFF", "a\xC3", "\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80"}) {
    EXPECT_EQ(NormalizedKey({"raw", text}).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(DeriveTokenMap, IdsInOrderOfFirstAppearance) {
  const std::vector<TokenText> tokens = {
      {"the", "the"},       {"cat", "cat"},       {"\u0120The", " The"}, {"caf\u00C3\u00A9", "caf\u00E9"},
      {"\u00C3", "\uFFFD"}, {"\u00C4", "\uFFFD"}, {"CAFE", "CAFE"},      {"\u00C3", "\uFFFD"},
      {"\u0120", " "},      {"\u010A", "\n"},
  };
  const absl::StatusOr<std::vector<int32_t>> map = DeriveTokenMap(tokens);
  ASSERT_TRUE(map.ok()) << map.status();
  EXPECT_THAT(*map, ElementsAre(0, 1, 0, 2, 3, 4, 2, 3, 5, 5));
}

TEST(DeriveTokenMap, ARawKeyMayEqualANormalizedOne) {
  const absl::StatusOr<std::vector<int32_t>> map = DeriveTokenMap({{"x", "same"}, {"same", "\uFFFD"}});
  ASSERT_TRUE(map.ok()) << map.status();
  EXPECT_THAT(*map, ElementsAre(0, 0));
}

TEST(DeriveTokenMap, NamesTheBrokenToken) {
  const absl::Status status = DeriveTokenMap({{"a", "a"}, {"b", "\xFF"}}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("token 1: text is not UTF-8"));
}

TEST(DeriveTokenMap, NoTokens) {
  const absl::StatusOr<std::vector<int32_t>> map = DeriveTokenMap({});
  ASSERT_TRUE(map.ok()) << map.status();
  EXPECT_THAT(*map, ElementsAre());
}

}  // namespace
}  // namespace engram
