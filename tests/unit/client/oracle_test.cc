// The second reader against literal answers: if it were wrong, `engram verify` would prove nothing.

#include "client/tool/oracle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/golden/golden_case.h"

namespace engram {
namespace {

// Appends the numbers of a nested array in their order.
void Flatten(const nlohmann::json& value, std::vector<int64_t>& out) {
  if (!value.is_array()) return out.push_back(value.get<int64_t>());
  for (const nlohmann::json& inner : value) Flatten(inner, out);
}

struct FullSize {
  nlohmann::json json;
  Geometry geometry;
  HashConstants constants;

  FullSize() {
    std::ifstream(GoldenPath("full_size_hash.json")) >> json;
    geometry.layer_ids = json["engram_layer_ids"].get<std::vector<uint32_t>>();
    geometry.rows = json["engram_num_embeddings"].get<std::vector<uint64_t>>();
    geometry.max_ngram_size = json["engram_max_ngram_size"].get<uint32_t>();
    geometry.heads = json["engram_n_heads"].get<uint32_t>();
    constants.pad_id = json["pad_id_compressed"].get<int32_t>();
    Flatten(json["multipliers"], constants.multipliers);
    Flatten(json["primes"], constants.primes);
    Flatten(json["offsets"], constants.offsets);
  }
};

TEST(PlainRowIdsTest, GivesTheLiteralIdsOfTheFullSizeModel) {
  const FullSize full;
  const std::vector<int32_t> ids = {10, 20, 30, 40, 50, 60};
  const std::vector<uint64_t> first = PlainRowIds(full.geometry, full.constants, 0, ids, 0, 0);
  ASSERT_EQ(first.size(), 24u);
  EXPECT_EQ(first[0], 9400104u);
  EXPECT_EQ(first[1], 24924096u);
  const std::vector<uint64_t> fourth = PlainRowIds(full.geometry, full.constants, 1, ids, 3, 3);
  EXPECT_EQ(fourth[22], 357342800u);
  EXPECT_EQ(fourth[23], 378588994u);
}

TEST(PlainRowIdsTest, GivesEveryIdOfTheFullSizeFile) {
  const FullSize full;
  size_t compared = 0;
  for (const nlohmann::json& sequence : full.json["sequences"]) {
    const auto ids = sequence["compressed_ids"].get<std::vector<int32_t>>();
    for (size_t position = 0; position < ids.size(); ++position) {
      for (size_t layer = 0; layer < 2; ++layer) {
        const auto wanted = sequence["hash_ids"][position][layer].get<std::vector<uint64_t>>();
        EXPECT_EQ(PlainRowIds(full.geometry, full.constants, layer, ids, position, position), wanted) << position;
        compared += wanted.size();
      }
    }
  }
  EXPECT_EQ(compared, 30u * 2 * 24);
}

TEST(PlainBf16Test, GivesLiteralValues) {
  EXPECT_EQ(PlainBf16(0x38, 127), 0x3F80);  // 1
  EXPECT_EQ(PlainBf16(0xC0, 127), 0xC000);  // -2
  EXPECT_EQ(PlainBf16(0x7E, 127), 0x43E0);  // 448
  EXPECT_EQ(PlainBf16(0x7E, 254), 0x7F80);  // 448 * 2^127 is past fp32
  EXPECT_EQ(PlainBf16(0x80, 200), 0x8000);  // -0
  EXPECT_EQ(PlainBf16(0x01, 127), 0x3B00);  // 2^-9
  EXPECT_EQ(PlainBf16(0x38, 0), 0x0040);    // 2^-127
  EXPECT_EQ(PlainBf16(0x01, 3), 0x0001);    // 2^-133, the smallest
  EXPECT_EQ(PlainBf16(0x01, 2), 0x0000);    // half of it: a tie goes to the even zero
  EXPECT_EQ(PlainBf16(0x03, 2), 0x0002);    // one and a half: to the even two
  EXPECT_EQ(PlainBf16(0x7F, 127), 0x7FC0);  // NaN
  EXPECT_EQ(PlainBf16(0xFF, 0), 0x7FC0);
  EXPECT_EQ(PlainBf16(0x38, 255), 0x7FC0);
}

class GoldenOracleTest : public testing::TestWithParam<const char*> {
 protected:
  // Replays the reference's calls, rewinds included, on an oracle opened from `checkpoint`.
  void Replay(const GoldenCase& golden, const std::string& checkpoint) {
    const auto oracle = Oracle::Open(GoldenPath(checkpoint), GoldenPath(golden.name + "_constants.gguf"));
    ASSERT_TRUE(oracle.ok()) << oracle.status();
    std::map<size_t, std::vector<int32_t>> histories;
    for (const GoldenStep& step : golden.steps) {
      for (size_t row = 0; row < step.batch(); ++row) {
        std::vector<int32_t>& history = histories[row];
        history.resize(step.start_pos);
        for (size_t i = 0; i < step.length(); ++i) {
          history.push_back(step.token_mask[row][i] ? golden.constants.token_map[step.input_ids[row][i]] : kDead);
          for (size_t layer = 0; layer < oracle->geometry().layers(); ++layer) {
            CompareToken(*oracle, step, layer, row * step.length() + i, history);
          }
        }
      }
    }
  }

  // `token` counts over the batch; `history` ends with its position.
  void CompareToken(const Oracle& oracle, const GoldenStep& step, size_t layer, size_t token,
                    const std::vector<int32_t>& history) {
    const Geometry& geometry = oracle.geometry();
    const size_t position = history.size() - 1;
    const auto ids = PlainRowIds(geometry, oracle.constants(), layer, history, position, position);
    std::vector<uint8_t> packed(geometry.packed_row_bytes());
    std::vector<uint16_t> values(geometry.head_dim);
    for (size_t column = 0; column < geometry.columns(); ++column) {
      ASSERT_EQ(ids[column], step.hash_ids[(token * geometry.layers() + layer) * geometry.columns() + column]);
      ASSERT_TRUE(oracle.ReadPacked(layer, ids[column], absl::MakeSpan(packed)).ok());
      oracle.Dequantize(packed, absl::MakeSpan(values));
      const uint16_t* wanted = &step.rows[layer][(token * geometry.columns() + column) * values.size()];
      for (size_t d = 0; d < values.size(); ++d) ASSERT_TRUE(SameBf16(values[d], wanted[d])) << ids[column];
      ++rows_;
    }
  }

  size_t rows_ = 0;
};

// Hash ids and bf16 rows of every golden step.
TEST_P(GoldenOracleTest, GivesTheGoldenRows) {
  const GoldenCase golden = LoadGoldenCase(GetParam());
  Replay(golden, golden.name + "_checkpoint");
  Replay(golden, golden.name + "_tables.gguf");
  size_t rows = 0;
  for (const GoldenStep& step : golden.steps) rows += step.hash_ids.size();
  EXPECT_EQ(rows_, 2 * rows);
}

INSTANTIATE_TEST_SUITE_P(All, GoldenOracleTest, testing::ValuesIn(kGoldenNames),
                         [](const auto& golden) { return std::string(golden.param); });

TEST(OracleTest, RefusesRowsPastTheTable) {
  const auto oracle = Oracle::Open(GoldenPath("tiny_checkpoint"), GoldenPath("tiny_constants.gguf"));
  ASSERT_TRUE(oracle.ok()) << oracle.status();
  std::vector<uint8_t> packed(oracle->geometry().packed_row_bytes());
  const absl::Status status = oracle->ReadPacked(0, oracle->geometry().rows[0], absl::MakeSpan(packed));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace engram
