// Files spoilt below what their formats can express: cut short, or with bytes that were not written by anyone.

#include <random>
#include <utility>

#include "model/files/checkpoint.h"
#include "model/files/safetensors.h"
#include "tests/unit/files/malformed_case.h"
#include "tests/unit/files/sample_files.h"

namespace engram {
namespace {

using enum absl::StatusCode;

void ExpectFileRefused(const std::string& bytes, absl::StatusCode code, const std::string& named) {
  const TempFolder folder;
  ExpectRefused(SafetensorsFile::Open(folder.Write("a.safetensors", bytes)).status(), code, named);
}

TEST(MalformedSafetensorsBytes, AreRefused) {
  ExpectFileRefused("", kDataLoss, "ends at offset 0");
  ExpectFileRefused("\x10\0\0", kDataLoss, "8 bytes are needed");
  ExpectFileRefused(Le(uint64_t{3}) + "{}", kDataLoss, "header length 3 is beyond the end of the file (10 bytes)");
  ExpectFileRefused(Le(uint64_t{1} << 60) + "{}", kInvalidArgument, "header length 1152921504606846976 is above");
  ExpectFileRefused(Le(uint64_t{2}) + "{x", kInvalidArgument, "the header is not JSON");
  ExpectFileRefused(Le(uint64_t{0}), kInvalidArgument, "the header is not JSON");
  ExpectFileRefused(Le(uint64_t{1000}) + std::string(1000, '['), kInvalidArgument, "the header is an array");
  for (const auto& [entry, named] :
       {std::pair(R"({"a":{"dtype":"U8","shape":[2],"shape":[1],"data_offsets":[0,1]}})", "tensor a: shape occurs"),
        std::pair(R"({"a":{"dtype":"U8","shape":[1],"dtype":"I8","data_offsets":[0,1]}})", "tensor a: dtype occurs"),
        std::pair(R"({"__metadata__":{"k":"1","k":"2"}})", "__metadata__: k occurs twice"),
        std::pair(R"({"__metadata__":{},"__metadata__":{}})", "__metadata__ is listed twice")}) {
    const std::string header(entry);
    ExpectFileRefused(Le(uint64_t{header.size()}) + header + "x", kInvalidArgument, named);
  }
  const std::string entry = R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]})";
  const std::string twice = "{" + entry + "," + entry + "}";
  ExpectFileRefused(Le(uint64_t{twice.size()}) + twice + "x", kInvalidArgument, "tensor a: is listed twice");
}

TEST(MalformedJson, AKeyThatOccursTwiceIsNamed) {
  const auto repeated = [](const std::string& text, const std::string& key) {
    const size_t at = text.find("\"" + key + "\"");
    return text.substr(0, at) + "\"" + key + "\":0," + text.substr(at);
  };
  const SampleFolder sample;
  const TempFolder folder;
  sample.Write(folder);
  EXPECT_EQ(OpenCheckpoint(folder.path(), "").status(), absl::OkStatus());
  folder.Write("tokenizer.json", repeated(sample.tokenizer.dump(), "a17"));
  ExpectRefused(OpenCheckpoint(folder.path(), "").status(), kInvalidArgument,
                "tokenizer.json: key \"a17\" occurs twice");
  folder.Write("config.json", repeated(sample.config.dump(), "engram_pad_id"));
  ExpectRefused(OpenCheckpoint(folder.path(), "").status(), kInvalidArgument,
                "config.json: key \"engram_pad_id\" occurs twice");
}

// Cut anywhere, the file is refused: never a crash, never an answer.
TEST(MalformedGgufBytes, EveryTruncationIsRefused) {
  const TempFolder folder;
  const SampleGguf sample;
  const std::string bytes = sample.Bytes();
  const size_t header_bytes = bytes.size() - sample.data.size();
  for (size_t size = 0; size < header_bytes; size += 7) {
    const auto status = OpenCheckpoint(folder.Write("cut.gguf", bytes.substr(0, size)), "").status();
    EXPECT_EQ(status.code(), kDataLoss) << size << ": " << status;
  }
}

// Opens the file after random changes to its first `header_bytes`; returns how many of the openings failed. Each error
// must say which file it speaks of.
int OpeningsRefused(const TempFolder& folder, const std::string& name, const std::string& bytes, size_t header_bytes) {
  std::mt19937 random(20240229);
  int refused = 0;
  for (int round = 0; round < 500; ++round) {
    std::string spoilt = bytes;
    for (uint32_t changes = 1 + random() % 4; changes > 0; --changes) {
      spoilt[random() % header_bytes] = static_cast<char>(random());
    }
    const std::string path = folder.Write(name, spoilt);
    const bool is_gguf = name.ends_with(".gguf");
    const absl::Status status = OpenCheckpoint(is_gguf ? path : folder.path(), "").status();
    if (status.ok()) continue;
    ++refused;
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr(folder.path())) << "round " << round;
  }
  return refused;
}

TEST(MalformedGgufBytes, RandomChangesNeverCrash) {
  const TempFolder folder;
  const SampleGguf sample;
  const std::string bytes = sample.Bytes();
  EXPECT_GT(OpeningsRefused(folder, "model.gguf", bytes, bytes.size() - sample.data.size()), 300);
}

TEST(MalformedSafetensorsBytes, RandomChangesNeverCrash) {
  const TempFolder folder;
  const SampleFolder sample;
  sample.Write(folder);
  const std::string bytes = SafetensorsBytes(sample.header, sample.data);
  EXPECT_GT(OpeningsRefused(folder, "model.safetensors", bytes, bytes.size() - sample.data.size()), 300);
}

}  // namespace
}  // namespace engram
