#include "model/files/checkpoint.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/digest.h"
#include "model/files/safetensors.h"
#include "model/files/table_reader.h"
#include "tests/unit/files/sample_files.h"

namespace engram {
namespace {

using testing::ElementsAre;

std::string GoldenPath(const std::string& name) {
  return std::string(ENGRAM_SOURCE_DIR) + "/tests/golden/data/" + name;
}

// The digests were computed apart from this library, from the formulas in the headers.
struct Golden {
  const char* name;
  Geometry geometry;
  const char* constants_digest;
  const char* model_digest;
};

class GoldenCheckpoint : public testing::TestWithParam<Golden> {
 protected:
  std::string Path(const std::string& suffix) const { return GoldenPath(GetParam().name + suffix); }
};

TEST_P(GoldenCheckpoint, OpensAlikeAsFolderAndAsGguf) {
  const auto folder = OpenCheckpoint(Path("_checkpoint"), Path("_constants.gguf"));
  const auto gguf = OpenCheckpoint(Path("_tables.gguf"), "");
  ASSERT_TRUE(folder.ok()) << folder.status();
  ASSERT_TRUE(gguf.ok()) << gguf.status();
  EXPECT_EQ(folder->geometry, GetParam().geometry);
  EXPECT_EQ(gguf->geometry, GetParam().geometry);
  EXPECT_EQ(folder->constants, gguf->constants);
  EXPECT_EQ(HexOf(folder->constants_digest), GetParam().constants_digest);
  EXPECT_EQ(HexOf(gguf->constants_digest), GetParam().constants_digest);
  EXPECT_EQ(HexOf(folder->model_digest), GetParam().model_digest);
  EXPECT_EQ(HexOf(gguf->model_digest), GetParam().model_digest);
  EXPECT_EQ(folder->name, std::string(GetParam().name) + "_checkpoint");
  EXPECT_EQ(gguf->name, std::string(GetParam().name) + "_tables.gguf");
}

TEST_P(GoldenCheckpoint, TakesConstantsFromEveryKindOfFile) {
  for (const char* suffix : {".safetensors", "_tables.gguf", "_constants.gguf"}) {
    for (const char* checkpoint_suffix : {"_checkpoint", "_tables.gguf"}) {
      const auto checkpoint = OpenCheckpoint(Path(checkpoint_suffix), Path(suffix));
      ASSERT_TRUE(checkpoint.ok()) << suffix << checkpoint.status();
      EXPECT_EQ(HexOf(checkpoint->constants_digest), GetParam().constants_digest) << suffix;
    }
  }
}

TEST_P(GoldenCheckpoint, HasTheReferencesConstants) {
  const auto file = SafetensorsFile::Open(Path(".safetensors"));
  const auto gguf = OpenCheckpoint(Path("_tables.gguf"), "");
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE(gguf.ok()) << gguf.status();
  const HashConstants& constants = gguf->constants;
  EXPECT_EQ(std::vector<int64_t>(constants.token_map.begin(), constants.token_map.end()),
            *file->ReadIntegers("token_map", 1000));
  EXPECT_EQ(constants.multipliers, *file->ReadIntegers("multipliers", 1000));
  EXPECT_EQ(constants.primes, *file->ReadIntegers("primes", 1000));
  EXPECT_EQ(constants.offsets, *file->ReadIntegers("offsets", 1000));
}

// Every row, by both readers, against the bytes of the tensor itself.
TEST_P(GoldenCheckpoint, RowsAreThoseOfTheTensors) {
  const auto folder = OpenCheckpoint(Path("_checkpoint"), Path("_constants.gguf"));
  const auto gguf = OpenCheckpoint(Path("_tables.gguf"), "");
  ASSERT_TRUE(folder.ok() && gguf.ok());
  const Geometry& geometry = folder->geometry;
  std::vector<uint8_t> row(geometry.packed_row_bytes());
  const auto codes = absl::MakeSpan(row).first(geometry.head_dim);
  const auto scales = absl::MakeSpan(row).subspan(geometry.head_dim);
  for (size_t layer = 0; layer < geometry.layers(); ++layer) {
    const auto file = SafetensorsFile::Open(folder->tables[layer].codes.path);
    ASSERT_TRUE(file.ok()) << file.status();
    const std::string name = "layers." + std::to_string(geometry.layer_ids[layer]) + ".engram.embed.";
    const std::string all_codes = *file->ReadBytes(name + "weight", 1 << 24);
    const std::string all_scales = *file->ReadBytes(name + "scale", 1 << 24);
    for (const auto* tables : {&folder->tables, &gguf->tables}) {
      const auto reader = TableReader::Open((*tables)[layer]);
      ASSERT_TRUE(reader.ok()) << reader.status();
      for (uint64_t i = 0; i < geometry.rows[layer]; ++i) {
        ASSERT_TRUE(reader->ReadRow(i, codes, scales).ok());
        ASSERT_EQ(std::string(codes.begin(), codes.end()), all_codes.substr(i * codes.size(), codes.size())) << i;
        ASSERT_EQ(std::string(scales.begin(), scales.end()), all_scales.substr(i * scales.size(), scales.size())) << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, GoldenCheckpoint,
                         testing::Values(Golden{"tiny",
                                                {{1, 4}, {462, 630}, 4, 2, 32, 64, 64},
                                                "9ab0d6311479eecf89dafd23efb33571628aa29b891fef2104d958e6189fa8b6",
                                                "c304f39d9855fce6d5bfb6e2cc92e65ade317870475fb1e89066cf836781c65c"},
                                         Golden{"medium",
                                                {{1, 14}, {6660, 10150}, 4, 8, 256, 512, 300},
                                                "8c4c5317cffa843255309a2cf8b6bc8d62bffcc04d7d7fac05bbd62f86d2e731",
                                                "df56d9e2fbaef91bf1bb507a704fe15a8815cbb5efeeba9d8069866254fb1b21"},
                                         Golden{"extremes",
                                                {{1, 14}, {630, 834}, 4, 2, 64, 128, 128},
                                                "62474fc44f160ce921e42bf9495cb79f536c65880ed0da0c650d13a3d6a9c1c8",
                                                "10c5eaa4e50ff4aad6e61cf18b2ecb57b062031fec086db0bb76957f5a5dc3e2"}),
                         [](const auto& one) { return std::string(one.param.name); });

// The sample's token map comes from its tokenizer, so it opens by itself.
TEST(Checkpoint, DerivesConstantsFromTheFolder) {
  const TempFolder folder;
  const auto derived = OpenCheckpoint(SampleFolder().Write(folder), "");
  ASSERT_TRUE(derived.ok()) << derived.status();
  EXPECT_EQ(derived->constants.primes, SamplePrimes());
  EXPECT_EQ(derived->constants.multipliers, SampleMultipliers());
  EXPECT_THAT(derived->constants.offsets, ElementsAre(0, 67, 138, 211, 290, 373, 0, 97, 198, 301, 408, 517));
  EXPECT_EQ(derived->constants.pad_id, 2);
  EXPECT_EQ(derived->constants.token_map[63], 63);
  const auto given = OpenCheckpoint(folder.path() + "/", SampleConstants().Write(folder));
  ASSERT_TRUE(given.ok()) << given.status();
  EXPECT_EQ(given->model_digest, derived->model_digest);
  EXPECT_EQ(given->name, derived->name);
  const auto gguf = OpenCheckpoint(SampleGguf().Write(folder), "");
  ASSERT_TRUE(gguf.ok()) << gguf.status();
  EXPECT_EQ(gguf->model_digest, derived->model_digest);
}

TEST(Checkpoint, NeedsNoPadKeyWhereTheConstantsStateIt) {
  const TempFolder folder;
  SampleFolder sample;
  sample.tokenizer = nullptr;
  sample.config.erase("engram_pad_id");
  sample.config.erase("engram_vocab_size");
  const std::string path = sample.Write(folder);
  SampleConstants constants;
  EXPECT_EQ(OpenCheckpoint(path, constants.Write(folder)).status().code(), absl::StatusCode::kInvalidArgument);
  constants.tensors["pad_id"] = {{}, {5}};
  constants.tensors["offsets"] = {{12}, {0, 67, 138, 211, 290, 373, 0, 97, 198, 301, 408, 517}};
  const auto checkpoint = OpenCheckpoint(path, constants.Write(folder));
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  EXPECT_EQ(checkpoint->constants.pad_id, 5);
}

// Without engram_vocab_size nothing says where the walk began, but it has no gaps.
TEST(Checkpoint, RefusesPrimesThatAreNoRun) {
  const TempFolder folder;
  SampleFolder sample;
  sample.config.erase("engram_vocab_size");
  sample.tokenizer = nullptr;
  SampleConstants constants;
  EXPECT_EQ(OpenCheckpoint(sample.Write(folder), constants.Write(folder)).status(), absl::OkStatus());
  std::swap(constants.tensors["primes"].second[0], constants.tensors["primes"].second[1]);
  const absl::Status status = OpenCheckpoint(folder.path(), constants.Write(folder)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("but 73 in the primes from 71"));
}

TEST(Checkpoint, TakesTheOtherPrefixAndScalesAsU8) {
  const TempFolder folder;
  SampleGguf gguf;
  for (auto& [key, value] : std::exchange(gguf.keys, {})) {
    gguf.keys["deepseek4.engram." + key.substr(gguf.prefix.size())] = value;
  }
  SampleFolder sample;
  sample.header["layers.1.engram.embed.scale"]["dtype"] = "U8";
  const auto from_gguf = OpenCheckpoint(gguf.Write(folder), "");
  const auto from_folder = OpenCheckpoint(sample.Write(folder), "");
  ASSERT_TRUE(from_gguf.ok()) << from_gguf.status();
  ASSERT_TRUE(from_folder.ok()) << from_folder.status();
  EXPECT_EQ(from_gguf->model_digest, from_folder->model_digest);
}

TEST(Checkpoint, DigestFollowsTheRows) {
  const TempFolder folder;
  SampleFolder sample;
  const auto before = OpenCheckpoint(sample.Write(folder), "");
  sample.data.back() = static_cast<char>(sample.data.back() + 1);  // the last scale of the last row
  const auto after = OpenCheckpoint(sample.Write(folder), "");
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_EQ(before->constants_digest, after->constants_digest);
  EXPECT_NE(before->model_digest, after->model_digest);
}

}  // namespace
}  // namespace engram
