// Synthetic checkpoints: literal rows, and folders written and read back. Python checks the rest
// (tests/e2e/synth_test.py).

#include "client/tool/synth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/tool/synth_files.h"
#include "client/tool/synth_rows.h"
#include "model/digest.h"
#include "model/files/checkpoint.h"
#include "model/files/table_reader.h"

namespace engram {
namespace {

using testing::HasSubstr;

std::string HexRow(uint64_t seed, uint64_t layer_id, uint64_t row, size_t codes, size_t shown) {
  std::vector<uint8_t> bytes(codes + codes / 32);
  SynthRow(SynthLayerKey(seed, layer_id), row, absl::MakeSpan(bytes.data(), codes),
           absl::MakeSpan(bytes).subspan(codes));
  return HexOf({reinterpret_cast<const char*>(bytes.data()), shown}) + " " +
         HexOf({reinterpret_cast<const char*>(bytes.data()) + codes, codes / 32});
}

TEST(SynthRowTest, IsThatOfTheDocs) {
  EXPECT_EQ(HexRow(1, 1, 0, 256, 16), "8db61fa6042d7cbdb1f0520a09d40c10 7c8686817a868585");
  EXPECT_EQ(HexRow(~uint64_t{0}, 14, 384016681, 256, 16), "ce6be61409589fca52a6a33e5af8b97e 867d817a83857784");
}

TEST(SynthRowTest, HasNoNanAndNoZeroInFront) {
  std::vector<uint8_t> codes(96), scales(3);
  for (uint64_t row = 0; row < 2000; ++row) {
    SynthRow(SynthLayerKey(9, 3), row, absl::MakeSpan(codes), absl::MakeSpan(scales));
    ASSERT_NE(codes[0] & 0x7F, 0) << row;
    for (const uint8_t code : codes) ASSERT_NE(code & 0x7F, 0x7F) << row;
    for (const uint8_t scale : scales) ASSERT_TRUE(scale >= 119 && scale <= 134) << row;
  }
}

TEST(BlocksTouchedTest, CountsEachOnce) {
  const std::vector<uint64_t> ids = {0, 1, 4, 5, 100};
  // Bytes 10-17, 18-25, 42-49, 50-57, 810-817 in blocks of 16: 0-1, 2-3, 50-51.
  EXPECT_EQ(BlocksTouched(ids, 10, 8, 16), 6u);
  EXPECT_EQ(BlocksTouched({}, 10, 8, 16), 0u);
}

class SynthTest : public testing::Test {
 protected:
  SynthTest() : root_(absl::StrCat(testing::TempDir(), "/engram_synth.", getpid())) {
    std::filesystem::create_directories(root_);
    options_.config_path = absl::StrCat(ENGRAM_SOURCE_DIR, "/deploy/geometries/odd.json");
    options_.folder = root_ + "/made";
    options_.seed = 11;
  }
  ~SynthTest() override { std::filesystem::remove_all(root_); }

  std::string File(const std::string& name, const std::string& text) const {
    std::ofstream(root_ + "/" + name) << text;
    return root_ + "/" + name;
  }

  // Rows of the folder's table `layer` that are not what they should be: holes, where they are allowed, aside.
  size_t WrongRows(const Checkpoint& checkpoint, size_t layer, size_t& holes) const {
    const absl::StatusOr<TableReader> reader = TableReader::Open(checkpoint.tables[layer]);
    if (!reader.ok()) return checkpoint.geometry.rows[layer];
    const Geometry& geometry = checkpoint.geometry;
    std::vector<uint8_t> codes(geometry.head_dim), scales(geometry.scales());
    std::vector<uint8_t> wanted_codes(codes.size()), wanted_scales(scales.size());
    size_t wrong = 0;
    for (uint64_t row = 0; row < geometry.rows[layer]; ++row) {
      if (!reader->ReadRow(row, absl::MakeSpan(codes), absl::MakeSpan(scales)).ok()) return geometry.rows[layer];
      SynthRow(SynthLayerKey(options_.seed, geometry.layer_ids[layer]), row, absl::MakeSpan(wanted_codes),
               absl::MakeSpan(wanted_scales));
      const bool hole = codes == std::vector<uint8_t>(codes.size()) && scales == std::vector<uint8_t>(scales.size());
      holes += hole;
      wrong += !hole && (codes != wanted_codes || scales != wanted_scales);
    }
    return wrong;
  }

  std::string root_;
  SynthOptions options_;
};

TEST_F(SynthTest, WritesEveryRow) {
  for (const size_t shards : {1, 2, 9}) {
    options_.shard_files = shards;
    options_.force = shards > 1;
    const absl::StatusOr<SynthReport> report = WriteSynth(options_);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->rows_written, 6534u);
    const absl::StatusOr<Checkpoint> checkpoint = OpenCheckpoint(options_.folder, "");
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
    for (size_t layer = 0; layer < 3; ++layer) {
      size_t holes = 0;
      EXPECT_EQ(WrongRows(*checkpoint, layer, holes), 0u);
      EXPECT_EQ(holes, 0u);
      EXPECT_EQ(checkpoint->tables[layer].codes.path == checkpoint->tables[layer].scales.path, shards == 1);
    }
  }
}

TEST_F(SynthTest, WritesTheRowsThatSequencesReach) {
  options_.sparse = true;
  options_.token_paths = {File("tokens.jsonl", "{\"tokens\": [7, 8, 9, 4000000], \"mask\": [1, 1, 1, 0]}\n")};
  const absl::StatusOr<SynthReport> report = WriteSynth(options_);
  if (report.status().code() == absl::StatusCode::kUnimplemented) GTEST_SKIP() << report.status();
  ASSERT_TRUE(report.ok()) << report.status();
  const absl::StatusOr<Checkpoint> checkpoint = OpenCheckpoint(options_.folder, "");
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  size_t holes = 0;
  for (size_t layer = 0; layer < 3; ++layer) EXPECT_EQ(WrongRows(*checkpoint, layer, holes), 0u);
  EXPECT_EQ(report->rows_written, 6534u - holes);
  // Four positions, three layers, six columns; the columns of two masked neighbours may meet.
  EXPECT_GT(report->rows_written, 54u);
  EXPECT_LE(report->rows_written, 72u);
}

TEST_F(SynthTest, NamesRowsThatAreNotTheSumsOfPrimes) {
  options_.config_path = File("config.json", R"({"engram_layer_ids": [1], "engram_num_embeddings": [10],
      "engram_max_ngram_size": 2, "engram_n_heads": 2, "engram_head_dim": 32, "engram_vocab_size": 100,
      "engram_compressed_vocab_size": 6, "engram_pad_id": 5, "vocab_size": 40})");
  const absl::Status status = WriteSynth(options_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("[10]"));
  EXPECT_THAT(status.message(), HasSubstr("[204]"));  // 101 + 103
  EXPECT_FALSE(std::filesystem::exists(options_.folder));

  options_.derive_rows = true;  // each class has up to seven spellings here: marks and upper case
  EXPECT_EQ(WriteSynth(options_)->rows_written, 204u);
  EXPECT_EQ(OpenCheckpoint(options_.folder, "")->constants.pad_id, 5);
}

TEST_F(SynthTest, LeavesNothingWhenThereIsNoRoom) {
  constexpr uint64_t kFullSize = 203'000'000'000;
  if (std::filesystem::space(root_).available > kFullSize) GTEST_SKIP() << root_ << " has room for " << kFullSize;
  options_.config_path = absl::StrCat(ENGRAM_SOURCE_DIR, "/deploy/geometries/full.json");
  options_.folder = root_ + "/above/made";
  EXPECT_EQ(WriteSynth(options_).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_FALSE(std::filesystem::exists(root_ + "/above"));
  std::filesystem::create_directories(options_.folder);
  EXPECT_EQ(WriteSynth(options_).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(std::filesystem::is_empty(options_.folder));
}

TEST_F(SynthTest, TakesBackWhatItWroteWhenAFileCannotBeMade) {
  std::filesystem::create_directories(options_.folder +
                                      "/model.safetensors.index.json");  // in the way of the last file
  EXPECT_EQ(WriteSynth(options_).status().code(), absl::StatusCode::kFailedPrecondition);
  File("made/engram_synth.json", "{}");
  File("made/notes", "mine");
  File("made/model.safetensors.index.json/x", "in the way");
  options_.force = true;
  EXPECT_EQ(WriteSynth(options_).status().code(), absl::StatusCode::kUnavailable);
  for (const auto& entry : std::filesystem::directory_iterator(options_.folder)) {
    EXPECT_NE(entry.path().extension(), ".safetensors") << entry.path();
  }
  EXPECT_TRUE(std::filesystem::exists(options_.folder + "/notes"));
}

TEST_F(SynthTest, LeavesOtherFoldersAlone) {
  std::filesystem::create_directories(options_.folder);
  File("made/model-00001-of-00001.safetensors", "precious");
  EXPECT_EQ(WriteSynth(options_).status().code(), absl::StatusCode::kFailedPrecondition);
  options_.force = true;
  EXPECT_THAT(WriteSynth(options_).status().message(), HasSubstr("engram_synth.json"));
  EXPECT_EQ(std::filesystem::file_size(options_.folder + "/model-00001-of-00001.safetensors"), 8u);
}

}  // namespace
}  // namespace engram
