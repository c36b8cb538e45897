#include "server/self_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "model/files/table_reader.h"
#include "model/number_formats.h"
#include "server/config.h"
#include "server/describe_model.h"

namespace engram {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Checkpoint OpenCase(const std::string& name) {
  const std::string golden = std::string(ENGRAM_SOURCE_DIR) + "/tests/golden/data/" + name;
  absl::StatusOr<Checkpoint> checkpoint = OpenCheckpoint(golden + "_checkpoint", golden + "_constants.gguf");
  EXPECT_TRUE(checkpoint.ok()) << checkpoint.status();
  return *std::move(checkpoint);
}

// Reads each row from the files, and delivers one of them wrong.
class FileEngine final : public Engine {
 public:
  explicit FileEngine(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {}

  size_t bad_layer = 99;
  uint64_t bad_row = 0;
  bool plus_zero = false;  // deliver -0 as +0, as a sum does
  uint64_t rows = 0;

  absl::Status Gather(absl::Span<const RowBlock> blocks) override {
    for (const RowBlock& block : blocks) {
      std::byte* out = block.out;
      for (const uint64_t id : block.ids) out = Deliver(block, id, out);
      rows += block.ids.size();
    }
    return absl::OkStatus();
  }
  absl::Status Heartbeat() override { return absl::OkStatus(); }
  absl::Status Stop() override { return absl::OkStatus(); }

 private:
  std::byte* Deliver(const RowBlock& block, uint64_t id, std::byte* out) {
    const Geometry& geometry = checkpoint_.geometry;
    const absl::StatusOr<TableReader> reader = TableReader::Open(checkpoint_.tables[block.layer_index]);
    std::vector<uint8_t> packed(geometry.packed_row_bytes());
    const auto codes = absl::MakeSpan(packed).first(geometry.head_dim);
    const auto scales = absl::MakeSpan(packed).subspan(geometry.head_dim);
    EXPECT_TRUE(reader->ReadRow(id, codes, scales).ok());
    if (block.layer_index == bad_layer && id == bad_row) codes[0] ^= 0x08;
    if (block.form == RowForm::kPacked) {
      std::memcpy(out, packed.data(), packed.size());
      return out + packed.size();
    }
    std::vector<uint16_t> values(geometry.head_dim);
    DequantizeRow(codes, scales, absl::MakeSpan(values));
    for (uint16_t& value : values) value = plus_zero && value == 0x8000 ? 0 : value;
    std::memcpy(out, values.data(), values.size() * 2);
    return out + values.size() * 2;
  }

  const Checkpoint& checkpoint_;
};

TEST(SelfCheckTest, PassesWhatTheFilesHold) {
  for (const std::string name : {"tiny", "extremes"}) {
    const Checkpoint checkpoint = OpenCase(name);
    FileEngine engine(checkpoint);
    const absl::StatusOr<uint64_t> compared = SelfCheck(engine, checkpoint, EngineOptions(), 4);
    ASSERT_TRUE(compared.ok()) << compared.status();
    EXPECT_EQ(*compared, engine.rows);
    EXPECT_GE(*compared, 2u * 2 * 16);
  }
}

TEST(SelfCheckTest, NamesTheRowThatDiffers) {
  const Checkpoint checkpoint = OpenCase("tiny");
  FileEngine engine(checkpoint);
  engine.bad_layer = 1;
  engine.bad_row = checkpoint.tables[1].rows - 1;  // the last rank's last one
  const absl::Status status = SelfCheck(engine, checkpoint, EngineOptions(), 3).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("layer 4: row 629 as PACKED"));
}

TEST(SelfCheckTest, OnlyASumMayLoseTheSignOfZero) {
  const Checkpoint checkpoint = OpenCase("extremes");
  FileEngine engine(checkpoint);
  engine.plus_zero = true;
  EngineOptions options;
  EXPECT_EQ(SelfCheck(engine, checkpoint, options, 900).status().code(), absl::StatusCode::kInternal);
  options.combine = CombineMode::kAllReduceBf16;
  EXPECT_TRUE(SelfCheck(engine, checkpoint, options, 900).ok());
}

TEST(DescribeModelTest, ANameOfAnyBytesBecomesUtf8) {
  Checkpoint checkpoint = OpenCase("tiny");
  checkpoint.name = "M\xff";
  v1::ServerConfig config;
  FillDefaults(config);
  EXPECT_EQ(DescribeModel(checkpoint, config, 1).name(), "M\xEF\xBF\xBD");  // U+FFFD
}

TEST(DescribeModelTest, FormatsFollowTheCombineMode) {
  const Checkpoint checkpoint = OpenCase("tiny");
  v1::ServerConfig config;
  FillDefaults(config);
  EXPECT_THAT(DescribeModel(checkpoint, config, 3).formats(),
              ElementsAre(v1::ROW_FORMAT_PACKED, v1::ROW_FORMAT_BF16, v1::ROW_FORMAT_HASH_IDS));
  config.mutable_sharding()->set_combine(v1::ALL_REDUCE_BF16);
  config.mutable_model()->set_name("mine");
  const v1::Model model = DescribeModel(checkpoint, config, 3);
  EXPECT_THAT(model.formats(), ElementsAre(v1::ROW_FORMAT_BF16, v1::ROW_FORMAT_HASH_IDS));
  EXPECT_EQ(model.name(), "mine");
  EXPECT_EQ(model.ranks(), 3u);
  EXPECT_EQ(model.table_version(), 1u);
  EXPECT_THAT(
      DescribeForLog(model, config),
      ::testing::Contains("layer 1: 462 rows of 33 bytes; rank 0 [0, 154) rank 1 [154, 308) rank 2 [308, 462)"));
}

}  // namespace
}  // namespace engram
