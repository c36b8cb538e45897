#include "model/files/safetensors.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/files/safetensors_set.h"
#include "model/files/safetensors_writer.h"
#include "tests/unit/files/sample_files.h"

namespace engram {
namespace {

using nlohmann::json;
using testing::ElementsAre;

TEST(SafetensorsFile, DataBeginsRightBehindTheHeader) {
  const TempFolder folder;
  const std::string text = R"({"__metadata__":{"k":"v"},"a":{"dtype":"U8","shape":[3],"data_offsets":[1,4]}} )";
  const auto file = SafetensorsFile::Open(folder.Write("a", Le(uint64_t{text.size()}) + text + "xabc"));
  ASSERT_TRUE(file.ok()) << file.status();
  const auto tensor = file->Find("a");
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_EQ(tensor->offset, 8 + text.size() + 1);
  EXPECT_EQ(tensor->bytes, 3u);
  EXPECT_THAT(tensor->shape, ElementsAre(3));
  EXPECT_EQ(*file->ReadBytes("a", 3), "abc");
  EXPECT_EQ(file->ReadBytes("a", 2).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(file->metadata().at("k"), "v");
  EXPECT_EQ(file->Find("b").status().code(), absl::StatusCode::kNotFound);
}

TEST(SafetensorsFile, WidensEveryIntegerType) {
  const std::vector<SafetensorsSpec> specs = {
      {"i8", "I8", {2}},   {"u8", "U8", {2}},   {"i16", "I16", {1}}, {"u16", "U16", {1}}, {"i32", "I32", {1}},
      {"u32", "U32", {1}}, {"i64", "I64", {1}}, {"u64", "U64", {1}}, {"big", "U64", {}},  {"f", "F32", {1}}};
  const std::string minus_one(8, '\xff');
  const std::string_view all = minus_one;
  const TempFolder folder;
  const std::string path = folder.Path("a");
  ASSERT_TRUE(
      WriteSafetensors(path, specs,
                       {all.substr(0, 2), all.substr(0, 2), all.substr(0, 2), all.substr(0, 2), all.substr(0, 4),
                        all.substr(0, 4), all, std::string_view("\1\0\0\0\0\0\0\x7f", 8), all, all.substr(0, 4)},
                       {})
          .ok());
  const auto file = SafetensorsFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_THAT(*file->ReadIntegers("i8", 2), ElementsAre(-1, -1));
  EXPECT_THAT(*file->ReadIntegers("u8", 2), ElementsAre(255, 255));
  EXPECT_THAT(*file->ReadIntegers("i16", 2), ElementsAre(-1));
  EXPECT_THAT(*file->ReadIntegers("u16", 2), ElementsAre(65535));
  EXPECT_THAT(*file->ReadIntegers("i32", 2), ElementsAre(-1));
  EXPECT_THAT(*file->ReadIntegers("u32", 2), ElementsAre(4294967295));
  EXPECT_THAT(*file->ReadIntegers("i64", 2), ElementsAre(-1));
  EXPECT_THAT(*file->ReadIntegers("u64", 2), ElementsAre(0x7f00000000000001));
  EXPECT_EQ(file->ReadIntegers("big", 2).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(file->ReadIntegers("f", 2).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(file->ReadIntegers("i8", 1).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(SafetensorsFile, TakesHeadersOfManyTensors) {
  json header;
  for (size_t i = 0; i < 100000; ++i) {
    header["layers." + std::to_string(i)] = {{"dtype", "U8"}, {"shape", {1}}, {"data_offsets", {i, i + 1}}};
  }
  const TempFolder folder;
  const auto file = SafetensorsFile::Open(folder.Write("a", SafetensorsBytes(header, std::string(100000, 'x'))));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->Names().size(), 100000u);
  EXPECT_EQ(file->Find("layers.99999")->bytes, 1u);
}

TEST(SafetensorsSet, FindsTensorsInDifferentShards) {
  const TempFolder folder;
  const json weight = {{"w", {{"dtype", "U8"}, {"shape", {2}}, {"data_offsets", {0, 2}}}}};
  const json scale = {{"s", {{"dtype", "U8"}, {"shape", {1}}, {"data_offsets", {0, 1}}}}};
  folder.Write("one.safetensors", SafetensorsBytes(weight, "ab"));
  folder.Write("two.safetensors", SafetensorsBytes(scale, "c"));
  const json index = {
      {"weight_map", {{"w", "one.safetensors"}, {"s", "two.safetensors"}, {"x", "absent.safetensors"}}}};
  folder.Write("model.safetensors.index.json", index.dump());
  auto set = SafetensorsSet::Open(folder.path());
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_TRUE(set->Has("x"));  // its shard is not looked for until it is needed
  EXPECT_EQ(set->Find("w")->path, folder.Path("one.safetensors"));
  EXPECT_EQ(set->Find("s")->path, folder.Path("two.safetensors"));
}

TEST(LayOutSafetensors, SaysWhereEachTensorGoes) {
  const auto layout = LayOutSafetensors({{"b", "F8_E4M3", {384006168, 256}}, {"a", "I64", {3}}}, {{"k", "v"}});
  ASSERT_TRUE(layout.ok()) << layout.status();
  EXPECT_EQ(layout->header.size() % 8, 0u);
  EXPECT_THAT(layout->offsets, ElementsAre(layout->header.size(), layout->header.size() + uint64_t{384006168} * 256));
  EXPECT_THAT(layout->tensor_bytes, ElementsAre(uint64_t{384006168} * 256, 24));
  EXPECT_EQ(layout->file_bytes, layout->offsets[1] + 24);
}

TEST(LayOutSafetensors, RefusesWhatCannotBeWritten) {
  EXPECT_FALSE(LayOutSafetensors({{"a", "F99", {1}}}, {}).ok());
  EXPECT_FALSE(LayOutSafetensors({{"a", "U8", {1}}, {"a", "U8", {1}}}, {}).ok());
  EXPECT_FALSE(LayOutSafetensors({{"a", "I64", {uint64_t{1} << 62}}}, {}).ok());
  EXPECT_FALSE(LayOutSafetensors({{"a", "U8", {uint64_t{1} << 62}}, {"b", "U8", {uint64_t{1} << 62}}}, {}).ok());
  EXPECT_FALSE(LayOutSafetensors({{"\xff", "U8", {1}}}, {}).ok());
}

TEST(WriteSafetensors, ChecksLengths) {
  const TempFolder folder;
  EXPECT_EQ(WriteSafetensors(folder.Path("a"), {{"a", "I32", {2}}}, {"1234567"}, {}).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(WriteSafetensors(folder.Path("a"), {{"a", "I32", {2}}}, {}, {}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(WriteSafetensors(folder.Path("no/a"), {}, {}, {}).code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace engram
