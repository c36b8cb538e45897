#include "model/files/gguf.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/files/checkpoint.h"
#include "model/files/gguf_splits.h"
#include "model/files/table_reader.h"
#include "tests/unit/files/sample_files.h"

namespace engram {
namespace {

using testing::ElementsAre;

TEST(GgufFile, WidensEveryIntegerType) {
  SampleGguf sample;
  const std::string ones(16, '\xff');
  const std::pair<uint32_t, uint32_t> kTypes[] = {{0, 1}, {1, 1}, {2, 2}, {3, 2}, {4, 4}, {5, 4}, {11, 8}};
  for (const auto& [type, bytes] : kTypes) {
    sample.keys["one." + std::to_string(type)] = Le(type) + ones.substr(0, bytes);
    sample.keys["two." + std::to_string(type)] = GgufArray(type, 2, ones.substr(0, 2 * bytes));
  }
  const TempFolder folder;
  const auto file = GgufFile::Open(sample.Write(folder));
  ASSERT_TRUE(file.ok()) << file.status();
  const std::pair<uint32_t, int64_t> kExpected[] = {{0, 255},        {1, -1}, {2, 65535}, {3, -1},
                                                    {4, 4294967295}, {5, -1}, {11, -1}};
  for (const auto& [type, value] : kExpected) {
    EXPECT_EQ(*file->Integer("one." + std::to_string(type)), value) << type;
    EXPECT_THAT(*file->Integers("two." + std::to_string(type), 2), ElementsAre(value, value)) << type;
  }
  EXPECT_EQ(file->Integers("two.0", 1).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(GgufFile, WalksOverValuesOfEveryKind) {
  SampleGguf sample;
  sample.keys["a.texts"] = GgufArray(8, 2, Le(uint64_t{3}) + "abc" + Le(uint64_t{0}));
  sample.keys["a.nested"] =
      GgufArray(9, 2, Le(uint32_t{1}) + Le(uint64_t{3}) + "abc" + Le(uint32_t{8}) + Le(uint64_t{0}));
  sample.keys["a.bool"] = Le(uint32_t{7}) + "\1";
  sample.keys["a.double"] = Le(uint32_t{12}) + Le(1.0);
  sample.keys["z.text"] = GgufText("last");
  const TempFolder folder;
  const auto file = GgufFile::Open(sample.Write(folder));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(*file->String("z.text"), "last");
  EXPECT_EQ(file->Integer("a.bool").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(OpenCheckpoint(folder.Path("model.gguf"), "").ok());
}

TEST(GgufFile, PlacesTensorsByItsAlignment) {
  SampleGguf sample;
  const TempFolder folder;
  const auto plain = GgufFile::Open(sample.Write(folder));
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_EQ(plain->tensors()[0].offset, sample.Bytes().size() - sample.data.size());
  sample.keys["general.alignment"] = GgufU32(4096);
  const auto aligned = GgufFile::Open(sample.Write(folder));
  ASSERT_TRUE(aligned.ok()) << aligned.status();
  EXPECT_EQ(aligned->tensors()[0].offset, 4096u);
}

// The tables of the sample in two files, the second table in the second.
class SplitGguf : public testing::Test {
 protected:
  SplitGguf() {
    second_.keys = {{"split.no", GgufU32(1)}, {"split.count", GgufU32(2)}};
    second_.tensors = {second_.tensors[1]};
    first_.keys["split.no"] = GgufU32(0);
    first_.keys["split.count"] = GgufU32(2);
    first_.keys["split.tensors.count"] = GgufU32(2);
    first_.tensors.pop_back();
  }

  absl::StatusOr<Checkpoint> Open() {
    second_.Write(folder_, "m-00002-of-00002.gguf");
    return OpenCheckpoint(first_.Write(folder_, "m-00001-of-00002.gguf"), "");
  }

  TempFolder folder_;
  SampleGguf first_;
  SampleGguf second_;
};

TEST_F(SplitGguf, OpensAsOneModel) {
  const auto split = Open();
  ASSERT_TRUE(split.ok()) << split.status();
  EXPECT_EQ(split->tables[0].codes.path, folder_.Path("m-00001-of-00002.gguf"));
  EXPECT_EQ(split->tables[1].codes.path, folder_.Path("m-00002-of-00002.gguf"));
  const auto whole = OpenCheckpoint(SampleGguf().Write(folder_), "");
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_EQ(split->model_digest, whole->model_digest);
}

TEST_F(SplitGguf, NamesTheFileThatDoesNotBelong) {
  second_.keys["split.no"] = GgufU32(0);
  const auto split = Open();
  EXPECT_EQ(split.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(split.status().message()), testing::HasSubstr("m-00002-of-00002.gguf: key split.no is 0"));
}

TEST_F(SplitGguf, CountsTensors) {
  first_.keys["split.tensors.count"] = GgufU32(3);
  EXPECT_THAT(std::string(Open().status().message()), testing::HasSubstr("key split.tensors.count is 3"));
}

TEST_F(SplitGguf, RefusesATensorInTwoFiles) {
  second_.tensors = SampleGguf().tensors;
  EXPECT_THAT(std::string(Open().status().message()), testing::HasSubstr("tensor blk.1.engram_embd.weight is in"));
}

TEST_F(SplitGguf, NamesTheFileThatIsNotThere) {
  const auto split = OpenCheckpoint(first_.Write(folder_, "m-00001-of-00002.gguf"), "");
  EXPECT_EQ(split.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(split.status().message()), testing::HasSubstr("m-00002-of-00002.gguf"));
}

}  // namespace
}  // namespace engram
