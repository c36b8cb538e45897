// The example in docs/client.md is the one that is compiled.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace {

std::string TextOf(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(std::string(ENGRAM_SOURCE_DIR) + path).rdbuf();
  return text.str();
}

TEST(DocsTest, ShowsTheExampleThatCompiles) {
  const std::string example = TextOf("/tests/unit/client/example.cc");
  ASSERT_FALSE(example.empty());
  EXPECT_THAT(TextOf("/docs/client.md"), testing::HasSubstr("```cpp\n" + example + "```\n"));
}

}  // namespace
