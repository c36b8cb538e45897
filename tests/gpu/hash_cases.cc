// The hash: the literal ids of the full size in every chunking, and NgramHasher's of random segments.

#include <algorithm>
#include <cstring>
#include <fstream>
#include <random>

#include "gmock/gmock.h"
#include "nlohmann/json.hpp"
#include "tests/gpu/kernel_fixture.h"
#include "tests/unit/model/full_size.h"

namespace engram {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

// Segments as they are put together, and what each row must be.
struct HashBatch {
  std::vector<int32_t> windows;
  std::vector<HashSegment> segments;
  uint64_t tokens = 0;
  std::vector<uint64_t> wanted;  // [tokens, K]

  void Add(uint32_t layer_index, absl::Span<const int32_t> window, size_t lookback) {
    segments.push_back({windows.size(), tokens, static_cast<uint32_t>(lookback), layer_index});
    windows.insert(windows.end(), window.begin(), window.end());
    tokens += window.size() - lookback;
  }
};

class Hash : public KernelTest {
 protected:
  std::vector<uint64_t> Run(const NgramHasher& hasher, const HashBatch& batch, HashOutput output) {
    HashArgs args;
    args.windows = Upload(batch.windows);
    args.segments = Upload(batch.segments);
    args.segment_count = static_cast<uint32_t>(batch.segments.size());
    args.tokens = batch.tokens;
    args.columns = hasher.columns();
    args.heads = hasher.heads();
    args.pad_id = hasher.pad_id();
    args.multipliers = Upload(std::vector<uint64_t>(hasher.multipliers().begin(), hasher.multipliers().end()));
    args.layout = Upload(std::vector<HashColumn>(hasher.layout().begin(), hasher.layout().end()));
    args.output = output;
    const Output out = MakeOutput(batch.tokens * hasher.columns() * sizeof(uint64_t));
    args.out = reinterpret_cast<uint64_t*>(out.data);
    const absl::Status status = LaunchHash(args, stream());
    EXPECT_TRUE(status.ok()) << status;
    const std::vector<uint8_t> bytes = Read(out);
    std::vector<uint64_t> ids(bytes.size() / sizeof(uint64_t));
    if (!bytes.empty()) std::memcpy(ids.data(), bytes.data(), bytes.size());
    return ids;
  }
};

// Adds one chunking of a sequence, one layer: bit i of `cuts` ends a chunk after position i.
void AddChunks(HashBatch& batch, uint32_t layer, const std::vector<int32_t>& ids, uint64_t cuts) {
  for (size_t begin = 0, end = 0; begin < ids.size(); begin = end) {
    for (end = begin + 1; end < ids.size() && (cuts >> (end - 1) & 1) == 0;) ++end;
    const size_t lookback = std::min<size_t>(begin, 3);
    batch.Add(layer, absl::MakeConstSpan(ids).subspan(begin - lookback, end - begin + lookback), lookback);
  }
}

HashBatch AllChunkings(const json& golden) {
  HashBatch batch;
  for (const json& sequence : golden.at("sequences")) {
    const auto ids = sequence.at("compressed_ids").get<std::vector<int32_t>>();
    for (uint64_t cuts = 0; cuts < uint64_t{1} << (ids.size() - 1); ++cuts) {
      for (uint32_t layer = 0; layer < 2; ++layer) {
        AddChunks(batch, layer, ids, cuts);
        for (const json& position : sequence.at("hash_ids")) {  // [positions, layers, K]
          const auto row = position.at(layer).get<std::vector<uint64_t>>();
          batch.wanted.insert(batch.wanted.end(), row.begin(), row.end());
        }
      }
    }
  }
  return batch;
}

NgramHasher FullSizeHasher(const json& golden) {
  const Geometry geometry = FullSize();
  HashConstants constants;
  constants.pad_id = golden.at("pad_id_compressed");
  constants.primes = DerivePrimes(geometry, 16000000);
  constants.multipliers = DeriveMultipliers(geometry);
  constants.offsets = OffsetsOf(geometry, constants.primes);
  return NgramHasher(geometry, constants);
}

TEST_F(Hash, LiteralIdsOfTheFullSizeInEveryChunking) {
  std::ifstream file(ENGRAM_SOURCE_DIR "/tests/golden/data/full_size_hash.json");
  const json golden = json::parse(file);
  const HashBatch batch = AllChunkings(golden);
  ASSERT_GT(batch.segments.size(), 1000u);
  EXPECT_EQ(Run(FullSizeHasher(golden), batch, HashOutput::kIds), batch.wanted);
}

// 4*1001 = 4004, 3*2003 = 6009, 2*3007 = 6014; 4004^6009 = 6365, mod 101 = 2; 6365^6014 = 4003, mod 103 = 89, + 101.
TEST_F(Hash, LiteralKnownAnswerByHand) {
  Geometry geometry;
  geometry.layer_ids = {7};
  geometry.rows = {204};
  geometry.max_ngram_size = 3;
  geometry.heads = 1;
  HashConstants constants;
  constants.pad_id = 9;
  constants.multipliers = {1001, 2003, 3007};
  constants.primes = {101, 103};
  constants.offsets = {0, 101};
  HashBatch batch;
  batch.Add(0, {2, 3, 4}, 2);
  EXPECT_EQ(Run(NgramHasher(geometry, constants), batch, HashOutput::kIds), (std::vector<uint64_t>{2, 190}));
}

struct HashShape {
  uint32_t layers;
  uint32_t max_ngram_size;
  uint32_t heads;
};

NgramHasher SomeHasher(const HashShape& shape) {
  Geometry geometry;
  for (uint32_t layer = 0; layer < shape.layers; ++layer) geometry.layer_ids.push_back(3 * layer + 1);
  geometry.max_ngram_size = shape.max_ngram_size;
  geometry.heads = shape.heads;
  geometry.compressed_vocab_size = 50;
  HashConstants constants;
  constants.pad_id = 7;
  constants.primes = DerivePrimes(geometry, 1000);
  constants.multipliers = DeriveMultipliers(geometry);
  constants.offsets = OffsetsOf(geometry, constants.primes);
  return NgramHasher(geometry, constants);
}

// Every third id dead, pads among the ids, segments of no token, look-backs cut short where a sequence begins.
HashBatch RandomBatch(const NgramHasher& hasher, uint32_t layers, uint64_t seed, HashOutput output) {
  std::mt19937_64 random(seed);
  HashBatch batch;
  for (int i = 0; i < 60; ++i) {
    const size_t lookback = random() % (hasher.lookback_max() + 1);
    std::vector<int32_t> window(lookback + random() % 4 * (random() % 9));
    for (int32_t& id : window) id = random() % 3 == 0 ? kDead : static_cast<int32_t>(random() % 50);
    const uint32_t layer = static_cast<uint32_t>(random() % layers);
    batch.Add(layer, window, lookback);
    std::vector<uint64_t> ids((window.size() - lookback) * hasher.columns());
    hasher.Hash(layer, window, lookback, absl::MakeSpan(ids));
    for (const uint64_t id : ids) {
      batch.wanted.push_back(output == HashOutput::kEntries ? uint64_t{layer} << 48 | id : id);
    }
  }
  return batch;
}

TEST_F(Hash, RandomSegmentsEqualNgramHasher) {
  for (const HashShape& shape : {HashShape{2, 4, 8}, HashShape{1, 2, 1}, HashShape{3, 5, 3}, HashShape{1, 16, 2}}) {
    const NgramHasher hasher = SomeHasher(shape);
    for (uint64_t seed = 1; seed <= 10; ++seed) {
      for (const HashOutput output : {HashOutput::kIds, HashOutput::kEntries}) {
        const HashBatch batch = RandomBatch(hasher, shape.layers, seed, output);
        ASSERT_EQ(Run(hasher, batch, output), batch.wanted) << "G " << shape.max_ngram_size << " seed " << seed;
      }
    }
  }
}

TEST_F(Hash, NothingToHash) {
  const NgramHasher hasher = SomeHasher({1, 4, 2});
  HashBatch batch;
  EXPECT_TRUE(Run(hasher, batch, HashOutput::kIds).empty());
  batch.Add(0, {1, 2, 3}, 3);
  EXPECT_TRUE(Run(hasher, batch, HashOutput::kIds).empty());
}

TEST_F(Hash, RefusesColumnsThatAreNoMultipleOfHeads) {
  HashArgs args;
  args.columns = 7;
  args.heads = 2;
  EXPECT_THAT(LaunchHash(args, stream()).ToString(),
              HasSubstr("columns is 7; it must be a positive multiple of heads = 2"));
}

}  // namespace
}  // namespace engram
