#include "model/files/byte_level.h"

#include "gtest/gtest.h"

namespace engram {
namespace {

TEST(ByteLevelBytes, MapsTheAlphabet) {
  EXPECT_EQ(ByteLevelBytes("abc!~"), "abc!~");
  EXPECT_EQ(ByteLevelBytes("Ġworld"), " world");
  EXPECT_EQ(ByteLevelBytes("Ċ"), "\n");
  EXPECT_EQ(ByteLevelBytes("Ã©"), "é");
  EXPECT_EQ(ByteLevelBytes("ä¸ĸ"), "世");
  EXPECT_EQ(ByteLevelBytes("Ń"), "\xAD");  // the last of the alphabet, U+0143
  EXPECT_EQ(ByteLevelBytes("Ā"), std::string(1, '\0'));
  EXPECT_EQ(ByteLevelBytes(""), "");
}

TEST(ByteLevelBytes, KeepsTokensWithOtherCharacters) {
  EXPECT_EQ(ByteLevelBytes("é世"), "é世");
  EXPECT_EQ(ByteLevelBytes("a b"), "a b");  // a space is written Ġ
  EXPECT_EQ(ByteLevelBytes("<｜end｜>"), "<｜end｜>");
  EXPECT_EQ(ByteLevelBytes("ń"), "ń");  // U+0144, one past the alphabet
}

// What Rust's String::from_utf8_lossy returns for these.
TEST(LossyUtf8, ReplacesMaximalParts) {
  EXPECT_EQ(LossyUtf8("Hello é 世 \xF0\x9F\x98\x80"), "Hello é 世 \xF0\x9F\x98\x80");
  EXPECT_EQ(LossyUtf8("Hello\xC2 There\xFF Goodbye"), "Hello\uFFFD There\uFFFD Goodbye");
  EXPECT_EQ(LossyUtf8("Hello\xC0\x80 There\xE6\x83 Goodbye"), "Hello\uFFFD\uFFFD There\uFFFD Goodbye");
  EXPECT_EQ(LossyUtf8("\xF5"
                      "foo\xF5\x80"
                      "bar"),
            "\uFFFDfoo\uFFFD\uFFFDbar");
  EXPECT_EQ(LossyUtf8("\xF1"
                      "foo\xF1\x80"
                      "bar\xF1\x80\x80"
                      "baz"),
            "\uFFFDfoo\uFFFDbar\uFFFDbaz");
  EXPECT_EQ(LossyUtf8("\xF4"
                      "foo\xF4\x80"
                      "bar\xF4\xBF"
                      "baz"),
            "\uFFFDfoo\uFFFDbar\uFFFD\uFFFDbaz");
  EXPECT_EQ(LossyUtf8("\xF0\x80\x80\x80"
                      "foo\xF0\x90\x80\x80"
                      "bar"),
            "\uFFFD\uFFFD\uFFFD\uFFFDfoo\U00010000bar");
  EXPECT_EQ(LossyUtf8("\xED\xA0\x80"
                      "foo\xED\xBF\xBF"
                      "bar"),
            "\uFFFD\uFFFD\uFFFDfoo\uFFFD\uFFFD\uFFFDbar");
  EXPECT_EQ(LossyUtf8("\x80"), "\uFFFD");
}

}  // namespace
}  // namespace engram
