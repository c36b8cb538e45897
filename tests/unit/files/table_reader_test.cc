#include "model/files/table_reader.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/files/model_digest.h"
#include "tests/unit/files/sample_files.h"

namespace engram {
namespace {

using testing::ElementsAre;

TEST(SampledRows, HoldTheFirstAndTheLast) {
  EXPECT_THAT(SampledRows(1), ElementsAre(0));
  EXPECT_THAT(SampledRows(3), ElementsAre(0, 1, 2));
  EXPECT_THAT(SampledRows(64), testing::SizeIs(64));
  const std::vector<uint64_t> rows = SampledRows(384016682);
  EXPECT_EQ(rows.size(), 64u);
  EXPECT_EQ(rows.front(), 0u);
  EXPECT_EQ(rows[1], 6095502u);
  EXPECT_EQ(rows.back(), 384016681u);
}

TEST(TableReader, ChecksWhatItIsAsked) {
  const TempFolder folder;
  const auto checkpoint = OpenCheckpoint(SampleFolder().Write(folder), "");
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  auto reader = TableReader::Open(checkpoint->tables[1]);
  ASSERT_TRUE(reader.ok()) << reader.status();
  std::vector<uint8_t> codes(32);
  std::vector<uint8_t> scales(1);
  ASSERT_TRUE(reader->ReadRow(629, absl::MakeSpan(codes), absl::MakeSpan(scales)).ok());
  EXPECT_EQ(std::string(codes.begin(), codes.end()), SampleCodes(4, 629));
  EXPECT_EQ(std::string(scales.begin(), scales.end()), SampleScales(4, 629));
  EXPECT_EQ(reader->ReadRow(630, absl::MakeSpan(codes), absl::MakeSpan(scales)).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(reader->ReadRow(0, absl::MakeSpan(scales), absl::MakeSpan(codes)).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(reader->CheckUnchanged().ok());
  const std::string path = folder.Path("model.safetensors");
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  EXPECT_EQ(reader->CheckUnchanged().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(reader->ReadRow(629, absl::MakeSpan(codes), absl::MakeSpan(scales)).code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(TableReader::Open(checkpoint->tables[1]).status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace engram
