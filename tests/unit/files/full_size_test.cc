// The released geometry in files with holes: 64-bit offsets, and an opening that reads little.

#include <fcntl.h>
#include <unistd.h>

#include <chrono>

#include "gtest/gtest.h"
#include "model/files/checkpoint.h"
#include "model/files/safetensors_writer.h"
#include "model/files/table_reader.h"
#include "tests/unit/files/sample_files.h"

namespace engram {
namespace {

const Geometry& Released() {
  static const Geometry geometry = {{1, 14}, {384006168, 384016682}, 4, 8, 256, 129280, 99092};
  return geometry;
}

// One file a layer. The last row of each has its layer id in every byte.
bool WriteTable(const TempFolder& folder, size_t layer, nlohmann::json* index) {
  const Geometry& geometry = Released();
  const std::string id = std::to_string(geometry.layer_ids[layer]);
  const std::string name = "layers." + id + ".engram.embed.";
  const auto layout = LayOutSafetensors({{name + "weight", "F8_E4M3", {geometry.rows[layer], geometry.head_dim}},
                                         {name + "scale", "F8_E8M0", {geometry.rows[layer], geometry.scales()}}},
                                        {});
  EXPECT_TRUE(layout.ok()) << layout.status();
  const std::string path = folder.Write(id + ".safetensors", layout->header);
  (*index)["weight_map"][name + "weight"] = id + ".safetensors";
  (*index)["weight_map"][name + "scale"] = id + ".safetensors";
  const int descriptor = ::open(path.c_str(), O_WRONLY);
  bool done = ::ftruncate(descriptor, static_cast<off_t>(layout->file_bytes)) == 0;
  for (size_t i = 0; i < 2 && done; ++i) {
    const std::string row(i == 0 ? geometry.head_dim : geometry.scales(), static_cast<char>(geometry.layer_ids[layer]));
    const uint64_t offset = layout->offsets[i] + layout->tensor_bytes[i] - row.size();
    done = ::pwrite(descriptor, row.data(), row.size(), static_cast<off_t>(offset)) == static_cast<ssize_t>(row.size());
  }
  ::close(descriptor);
  return done;
}

std::string WriteConstants(const TempFolder& folder) {
  const Geometry& geometry = Released();
  SampleConstants constants;
  std::vector<int64_t> map(geometry.vocab_size);
  for (size_t i = 0; i < map.size(); ++i) map[i] = static_cast<int64_t>(i % geometry.compressed_vocab_size);
  constants.tensors["token_map"] = {{map.size()}, map};
  constants.tensors["multipliers"] = {{2, 4}, DeriveMultipliers(geometry)};
  constants.tensors["primes"] = {{2, 3, 8}, DerivePrimes(geometry, 16000000)};
  return constants.Write(folder);
}

TEST(FullSize, OpensFastAndReadsTheLastRow) {
  const TempFolder folder;
  nlohmann::json index;
  if (!WriteTable(folder, 0, &index) || !WriteTable(folder, 1, &index)) {
    GTEST_SKIP() << "no files of 100 GB with holes in " << folder.path();
  }
  folder.Write("model.safetensors.index.json", index.dump());
  SampleFolder config;
  config.config = {{"engram_layer_ids", Released().layer_ids},
                   {"engram_num_embeddings", Released().rows},
                   {"engram_max_ngram_size", 4},
                   {"engram_n_heads", 8},
                   {"engram_head_dim", 256},
                   {"engram_vocab_size", 16000000},
                   {"engram_compressed_vocab_size", 99092},
                   {"engram_pad_id", 2},
                   {"vocab_size", 129280}};
  folder.Write("config.json", config.config.dump());
  const std::string constants = WriteConstants(folder);
  const auto begin = std::chrono::steady_clock::now();
  const auto checkpoint = OpenCheckpoint(folder.path(), constants);
  const auto took = std::chrono::steady_clock::now() - begin;
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  EXPECT_LT(took, std::chrono::seconds(5));  // reading the tables would take minutes
  for (size_t layer = 0; layer < 2; ++layer) {
    const auto reader = TableReader::Open(checkpoint->tables[layer]);
    ASSERT_TRUE(reader.ok()) << reader.status();
    std::vector<uint8_t> codes(256);
    std::vector<uint8_t> scales(8);
    ASSERT_TRUE(reader->ReadRow(Released().rows[layer] - 1, absl::MakeSpan(codes), absl::MakeSpan(scales)).ok());
    const auto expected = static_cast<uint8_t>(Released().layer_ids[layer]);
    EXPECT_EQ(codes, std::vector<uint8_t>(256, expected));
    EXPECT_EQ(scales, std::vector<uint8_t>(8, expected));
    ASSERT_TRUE(reader->ReadRow(Released().rows[layer] - 2, absl::MakeSpan(codes), absl::MakeSpan(scales)).ok());
    EXPECT_EQ(codes, std::vector<uint8_t>(256, 0));
  }
}

}  // namespace
}  // namespace engram
