// The hash at the full size: literal row ids, and that no way of cutting a sequence into chunks changes them.

#include <algorithm>
#include <fstream>

#include "gtest/gtest.h"
#include "model/ngram_hash.h"
#include "nlohmann/json.hpp"
#include "tests/golden/golden_case.h"

namespace engram {
namespace {

using nlohmann::json;
using Ids = std::vector<int32_t>;

template <typename T>
void Flatten(const json& values, std::vector<T>& out) {
  if (!values.is_array()) return out.push_back(values.get<T>());
  for (const json& value : values) Flatten(value, out);
}

template <typename T>
std::vector<T> Flat(const json& values) {
  std::vector<T> out;
  Flatten(values, out);
  return out;
}

class FullSize : public ::testing::Test {
 protected:
  FullSize() {
    std::ifstream file(GoldenPath("full_size_hash.json"));
    golden_ = json::parse(file);
    geometry_.layer_ids = golden_.at("engram_layer_ids").get<std::vector<uint32_t>>();
    geometry_.rows = golden_.at("engram_num_embeddings").get<std::vector<uint64_t>>();
    geometry_.max_ngram_size = golden_.at("engram_max_ngram_size");
    geometry_.heads = golden_.at("engram_n_heads");
    geometry_.head_dim = golden_.at("engram_head_dim");
    geometry_.compressed_vocab_size = golden_.at("engram_compressed_vocab_size");
    geometry_.vocab_size = geometry_.compressed_vocab_size;
    constants_.pad_id = golden_.at("pad_id_compressed");
    constants_.primes = DerivePrimes(geometry_, golden_.at("engram_vocab_size").get<uint64_t>());
    constants_.multipliers = DeriveMultipliers(geometry_);
    constants_.offsets = OffsetsOf(geometry_, constants_.primes);
  }

  // [positions, layers, K], as the file orders them. Bit i of `cuts` ends a chunk after position i; each chunk sees its
  // look-back only.
  std::vector<uint64_t> HashInChunks(const Ids& ids, uint64_t cuts) const {
    const NgramHasher hasher(geometry_, constants_);
    const size_t columns = hasher.columns();
    std::vector<uint64_t> all(ids.size() * geometry_.layers() * columns);
    for (size_t begin = 0, end = 0; begin < ids.size(); begin = end) {
      for (end = begin + 1; end < ids.size() && (cuts >> (end - 1) & 1) == 0;) ++end;
      const size_t lookback = std::min<size_t>(begin, hasher.lookback_max());
      const absl::Span<const int32_t> window =
          absl::MakeConstSpan(ids).subspan(begin - lookback, end - begin + lookback);
      std::vector<uint64_t> chunk((end - begin) * columns);
      for (size_t layer = 0; layer < geometry_.layers(); ++layer) {
        hasher.Hash(layer, window, lookback, absl::MakeSpan(chunk));
        for (size_t i = begin; i < end; ++i) {
          std::copy_n(&chunk[(i - begin) * columns], columns, &all[(i * geometry_.layers() + layer) * columns]);
        }
      }
    }
    return all;
  }

  // The definition, position by position, with plain remainders.
  std::vector<uint64_t> HashByDefinition(const Ids& ids) const {
    std::vector<uint64_t> all;
    for (size_t position = 0; position < ids.size(); ++position) {
      for (size_t layer = 0; layer < geometry_.layers(); ++layer) {
        for (uint32_t column = 0; column < geometry_.columns(); ++column) {
          uint64_t hash = 0;
          bool blocked = false;
          for (size_t shift = 0; shift <= column / geometry_.heads + 1; ++shift) {
            blocked = blocked || shift > position || ids[position - shift] == kDead;
            const int64_t id = blocked ? constants_.pad_id : ids[position - shift];
            hash ^= static_cast<uint64_t>(id * constants_.multipliers[layer * geometry_.max_ngram_size + shift]);
          }
          const size_t at = layer * geometry_.columns() + column;
          all.push_back(hash % static_cast<uint64_t>(constants_.primes[at]) + constants_.offsets[at]);
        }
      }
    }
    return all;
  }

  json golden_;
  Geometry geometry_;
  HashConstants constants_;
};

TEST_F(FullSize, ConstantsAreDerived) {
  EXPECT_EQ(constants_.multipliers, Flat<int64_t>(golden_.at("multipliers")));
  EXPECT_EQ(constants_.primes, Flat<int64_t>(golden_.at("primes")));
  EXPECT_EQ(constants_.offsets, Flat<int64_t>(golden_.at("offsets")));
}

TEST_F(FullSize, EverySequenceInEveryChunking) {
  ASSERT_EQ(golden_.at("sequences").size(), 5u);
  for (const json& sequence : golden_.at("sequences")) {
    const Ids ids = sequence.at("compressed_ids");
    const std::vector<uint64_t> wanted = Flat<uint64_t>(sequence.at("hash_ids"));
    ASSERT_EQ(wanted.size(), ids.size() * 2 * 24);
    EXPECT_EQ(HashByDefinition(ids), wanted);
    for (uint64_t cuts = 0; cuts < uint64_t{1} << (ids.size() - 1); ++cuts) {
      ASSERT_EQ(HashInChunks(ids, cuts), wanted) << "cuts " << cuts;
    }
  }
}

TEST_F(FullSize, NineTokensUnderEveryMaskInEveryChunking) {
  const Ids tokens = {99091, 5, 77777, 2, 12345, 2, 0, 64000, 31337};
  for (uint64_t dead = 0; dead < 512; ++dead) {
    Ids ids = tokens;
    for (size_t i = 0; i < ids.size(); ++i) {
      if (dead >> i & 1) ids[i] = kDead;
    }
    const std::vector<uint64_t> wanted = HashByDefinition(ids);
    for (uint64_t cuts = 0; cuts < 256; ++cuts) {
      ASSERT_EQ(HashInChunks(ids, cuts), wanted) << "dead " << dead << " cuts " << cuts;
    }
  }
}

}  // namespace
}  // namespace engram
