// `engram verify` as a whole: an honest service passes whatever traffic comes, and each kind of lie is found.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "client/tool/comparer.h"
#include "client/tool/traffic.h"
#include "client/tool/verify_run.h"
#include "tests/golden/golden_case.h"
#include "tests/unit/client/golden_oracle.h"
#include "tests/unit/client/plain_service.h"

namespace engram {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

constexpr uint64_t kSteps = 200;

// A copy of tiny's checkpoint whose first table is all zeros, as a sparse file reads where nothing was written.
std::string CheckpointWithHoles() {
  const std::string folder = testing::TempDir() + "/checkpoint_with_holes";
  std::filesystem::remove_all(folder);
  std::filesystem::copy(GoldenPath("tiny_checkpoint"), folder);
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all);
  const auto checkpoint = OpenCheckpoint(folder, GoldenPath("tiny_constants.gguf"));
  EXPECT_TRUE(checkpoint.ok()) << checkpoint.status();
  for (const StridedBytes& part : {checkpoint->tables[0].codes, checkpoint->tables[0].scales}) {
    std::filesystem::permissions(part.path, std::filesystem::perms::owner_all);
    std::fstream file(part.path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(part.offset));
    file << std::string(checkpoint->tables[0].rows * part.width, '\0');
  }
  return folder;
}

std::vector<TokenSequence> Texts() {
  std::vector<TokenSequence> texts(2);
  for (uint32_t i = 0; i < 300; ++i) texts[0].tokens.push_back(i * i % 61);
  for (uint32_t i = 0; i < 40; ++i) texts[1].tokens.push_back(i % 13);
  for (uint32_t i = 0; i < 40; ++i) texts[1].mask.push_back(i < 10 || i > 14);
  return texts;
}

// A server, a client and a comparer over one golden case.
class Setting {
 public:
  Setting(const std::string& name, PlainFaults faults, ComparerOptions options = {})
      : oracle_(OpenCase(name)), service_(oracle_, faults), comparer_(oracle_, options), client_(service_.Connect()) {}

  absl::Status Random(std::vector<v1::RowFormat> formats, uint64_t seed, TokenSource& source) {
    TrafficOptions options;
    options.seed = seed;
    options.formats = std::move(formats);
    options.fork = true;
    Handovers handovers;
    Traffic traffic(oracle_, source, handovers, nullptr, options);
    RandomRunOptions run;
    run.seed = seed;
    run.steps = kSteps;
    return RunRandom({{*client_, traffic, comparer_}}, run);
  }
  absl::Status Random(std::vector<v1::RowFormat> formats, uint64_t seed) {
    RandomTokens source(oracle_.constants(), {});
    return Random(std::move(formats), seed, source);
  }

  const Oracle& oracle() const { return oracle_; }
  Connection& client() { return *client_; }
  Comparer& comparer() { return comparer_; }
  const CompareCounts& counts() const { return comparer_.counts(); }

 private:
  Oracle oracle_;
  PlainService service_;
  Comparer comparer_;
  std::unique_ptr<Connection> client_;
};

const std::vector<v1::RowFormat> kAll = {v1::ROW_FORMAT_PACKED, v1::ROW_FORMAT_BF16, v1::ROW_FORMAT_HASH_IDS};

TEST(VerifyTest, FindsNothingWrongWithAnHonestService) {
  for (const char* name : {"tiny", "extremes"}) {
    Setting setting(name, {});
    ASSERT_TRUE(setting.Random(kAll, 3).ok());
    EXPECT_EQ(setting.comparer().first_mismatch(), "");
    EXPECT_EQ(setting.counts().mismatches, 0u);
    EXPECT_EQ(setting.counts().steps, kSteps);
    EXPECT_GT(setting.counts().rows, 10000u);
    EXPECT_GT(setting.counts().nonzero_rows, 1000u);
  }
}

TEST(VerifyTest, DrawsFromTexts) {
  Setting setting("tiny", {});
  RandomTokens source(setting.oracle().constants(), Texts());
  ASSERT_TRUE(setting.Random(kAll, 4, source).ok());
  EXPECT_EQ(setting.comparer().first_mismatch(), "");
  EXPECT_GT(setting.counts().rows, 10000u);
}

TEST(VerifyTest, FindsOneFlippedBitInEveryFormat) {
  const std::vector<std::pair<v1::RowFormat, std::string>> cases = {
      {v1::ROW_FORMAT_PACKED, "byte 5: expected 0x[0-9a-f]+, received 0x[0-9a-f]+"},
      {v1::ROW_FORMAT_BF16, "value 2: expected bf16 0x[0-9a-f]+, received 0x[0-9a-f]+"},
      {v1::ROW_FORMAT_HASH_IDS, "received row id [0-9]+"}};
  for (const auto& [format, words] : cases) {
    PlainFaults faults;
    faults.flip_row = 3000;
    Setting setting("tiny", faults);
    ASSERT_TRUE(setting.Random({format}, 5).ok());
    EXPECT_EQ(setting.counts().mismatches, 1u);
    EXPECT_THAT(
        setting.comparer().first_mismatch(),
        MatchesRegex("session [0-9]+, position [0-9]+, token [0-9]+, layer [0-9]+, column [0-9]+, row [0-9]+.*"));
    EXPECT_THAT(setting.comparer().first_mismatch(), testing::ContainsRegex(words));
    EXPECT_THAT(Summary(setting.counts()), MatchesRegex("200 steps, [0-9]+ rows, 1 mismatches"));
  }
}

TEST(VerifyTest, FindsHistoryThatSurvivesARewind) {
  PlainFaults faults;
  faults.forget_rewinds = true;
  Setting setting("tiny", faults);
  ASSERT_TRUE(setting.Random(kAll, 6).ok());
  EXPECT_GT(setting.counts().mismatches, 0u);
}

TEST(VerifyTest, KnowsWhatAllReduceDoesToMinusZero) {
  PlainFaults faults;
  faults.lose_minus_zero = true;
  Setting strict("extremes", faults);
  ASSERT_TRUE(strict.Random({v1::ROW_FORMAT_BF16}, 7).ok());
  EXPECT_GT(strict.counts().mismatches, 0u);
  Setting lenient("extremes", faults, {true, false});
  ASSERT_TRUE(lenient.Random({v1::ROW_FORMAT_BF16}, 7).ok());
  EXPECT_EQ(lenient.comparer().first_mismatch(), "");
  Setting kept("extremes", {}, {true, false});
  ASSERT_TRUE(kept.Random({v1::ROW_FORMAT_BF16}, 7).ok());
  EXPECT_GT(kept.counts().mismatches, 0u) << "a -0 that should have been lost";
}

TEST(VerifyTest, AsksASparseCheckpointForItsSequencesOnly) {
  Setting setting("tiny", {});
  ScriptedTokens source(setting.oracle().constants(), Texts());
  ASSERT_TRUE(setting.Random(kAll, 8, source).ok());
  EXPECT_EQ(setting.comparer().first_mismatch(), "");
  EXPECT_GT(setting.counts().rows, 10000u);
}

TEST(VerifyTest, PassesOverEachSequenceOnce) {
  Setting setting("tiny", {});
  const ScriptedTokens source(setting.oracle().constants(), Texts());
  const auto phases =
      RunPrefillDecode(setting.client(), source.sequences(), setting.oracle().geometry().max_ngram_size - 1,
                       setting.comparer(), {v1::ROW_FORMAT_PACKED, 64, 16});
  ASSERT_TRUE(phases.ok()) << phases.status();
  ASSERT_EQ(phases->size(), 2u);
  const uint64_t token_rows = setting.oracle().geometry().columns() * setting.oracle().geometry().layers();
  EXPECT_EQ((*phases)[0].counts.tokens, 340u - 32u);
  EXPECT_EQ((*phases)[0].counts.steps, 5u + 1u);
  EXPECT_EQ((*phases)[1].counts.tokens, 32u);
  EXPECT_EQ((*phases)[1].counts.steps, 32u);
  EXPECT_EQ((*phases)[1].counts.rows, 32u * token_rows);
  EXPECT_EQ((*phases)[0].counts.mismatches + (*phases)[1].counts.mismatches, 0u) << setting.comparer().first_mismatch();
  EXPECT_THAT(PhaseTable(*phases), HasSubstr("prefill"));
}

TEST(VerifyTest, CallsARowThatWasNeverWrittenAHole) {
  const std::string folder = CheckpointWithHoles();
  Setting strict(folder, {}, {false, true});
  ASSERT_TRUE(strict.Random({v1::ROW_FORMAT_PACKED}, 9).ok());
  EXPECT_THAT(strict.comparer().first_mismatch(), HasSubstr("hole"));
  EXPECT_EQ(strict.counts().mismatches, strict.counts().table_rows - strict.counts().nonzero_rows);
  Setting lenient(folder, {});
  ASSERT_TRUE(lenient.Random({v1::ROW_FORMAT_PACKED}, 9).ok());
  EXPECT_EQ(lenient.comparer().first_mismatch(), "");
  EXPECT_GT(lenient.counts().nonzero_rows, 0u) << "of the other layer";
  EXPECT_LT(lenient.counts().nonzero_rows, lenient.counts().table_rows);
}

TEST(CheckTokensTest, NamesTheTokenPastTheVocabulary) {
  std::vector<TokenSequence> texts = Texts();
  EXPECT_TRUE(CheckTokens(texts, 61).ok());
  EXPECT_THAT(CheckTokens(texts, 50).message(), HasSubstr("must be below vocab_size 50"));
  texts[1].tokens[12] = 1000;  // masked: whatever it is
  EXPECT_TRUE(CheckTokens(texts, 61).ok());
}

}  // namespace
}  // namespace engram
