#include "shard/row_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace engram {
namespace {

using ::testing::ElementsAre;

std::vector<uint64_t> NumbersOf(absl::string_view text, char separator) {
  std::vector<uint64_t> numbers;
  for (absl::string_view word : absl::StrSplit(text, separator, absl::SkipWhitespace())) {
    numbers.push_back(0);
    EXPECT_TRUE(absl::SimpleAtoi(word, &numbers.back())) << word;
  }
  return numbers;
}

std::string After(const std::string& line, const std::string& key) { return line.substr(line.find(key) + key.size()); }

// One plan of the script: what is asked, and the answer as the script writes it.
struct Script {
  int line = 0;
  size_t ranks = 0;
  std::vector<uint64_t> rows;
  std::deque<std::vector<uint64_t>> ids;
  std::vector<RowBlock> blocks;
  std::string expected;
};

void ReadLine(const std::string& line, Script& script) {
  if (line.rfind("plan ", 0) == 0) {
    script.ranks = NumbersOf(line.substr(0, line.find(" rows=")).substr(line.find('=') + 1), ' ')[0];
    script.rows = NumbersOf(After(line, "rows="), ',');
  } else if (line.rfind("block ", 0) == 0) {
    script.ids.push_back(NumbersOf(After(line, ":"), ' '));
    RowBlock block;
    block.layer_index = NumbersOf(line.substr(6, line.find(':') - 6), ' ')[0];
    block.ids = script.ids.back();
    script.blocks.push_back(block);
  } else {
    absl::StrAppend(&script.expected, line, "\n");
  }
}

std::deque<Script> ReadScripts(const std::string& path) {
  std::ifstream in(path);
  std::deque<Script> scripts;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    if (line.empty() || line[0] == '#') continue;
    if (line.rfind("plan ", 0) == 0) scripts.emplace_back().line = number;
    ReadLine(line, scripts.back());
  }
  return scripts;
}

std::string Describe(const RowPlan& plan, size_t ranks) {
  std::string text;
  for (size_t rank = 0; rank < ranks; ++rank) {
    absl::StrAppend(&text, "rank ", rank, ":");
    for (size_t i = 0; i < plan.count(rank); ++i) {
      const uint64_t entry = plan.EntriesOf(rank)[i];
      absl::StrAppend(&text, " ", LayerOf(entry), ":", RowOf(entry), ">", plan.RequestsOf(rank)[i]);
    }
    text += "\n";
  }
  return text;
}

TEST(RowPlan, GoldenScript) {
  const std::deque<Script> scripts =
      ReadScripts(std::string(ENGRAM_SOURCE_DIR) + "/tests/unit/shard/testdata/row_plan.txt");
  ASSERT_EQ(scripts.size(), 7u);
  for (const Script& script : scripts) {
    RowPlan plan(script.rows, script.ranks);
    plan.Build(script.blocks);
    EXPECT_EQ(Describe(plan, script.ranks), script.expected) << "row_plan.txt line " << script.line;
  }
}

TEST(RowPlan, IsRebuiltEachRound) {
  RowPlan plan({10}, 2);
  const std::vector<uint64_t> many = {9, 8, 7, 1};
  const std::vector<uint64_t> one = {5};
  RowBlock block;
  block.ids = many;
  plan.Build({&block, 1});
  EXPECT_THAT(plan.requests(), ElementsAre(3, 0, 1, 2));
  block.ids = one;
  plan.Build({&block, 1});
  EXPECT_THAT(plan.requests(), ElementsAre(0));
  EXPECT_EQ(plan.count(0), 0u);
  EXPECT_EQ(plan.count(1), 1u);
}

TEST(RowPlan, EntriesKeepTheLayerInTheTop16Bits) {
  EXPECT_EQ(EntryOf(1023, 0xFFFFFFFFFFFF), 0x03FFFFFFFFFFFFFFu);
  EXPECT_EQ(LayerOf(0x03FFFFFFFFFFFFFFu), 1023u);
  EXPECT_EQ(RowOf(0x03FFFFFFFFFFFFFFu), 0xFFFFFFFFFFFFu);
}

}  // namespace
}  // namespace engram
