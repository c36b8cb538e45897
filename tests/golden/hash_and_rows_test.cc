// Every step of the golden cases: row ids through one rewindable history per batch row, then the rows themselves.

#include <algorithm>

#include "gtest/gtest.h"
#include "model/ngram_hash.h"
#include "model/number_formats.h"
#include "tests/golden/golden_case.h"

namespace engram {
namespace {

class Golden : public ::testing::TestWithParam<const char*> {
 protected:
  const GoldenCase golden_ = LoadGoldenCase(GetParam());
  const Geometry& geometry_ = golden_.geometry;
  const size_t columns_ = geometry_.columns();

  // Hash ids of `step` for one batch row: [L, layers, K]. Writes the step into `history` first.
  std::vector<uint64_t> HashStep(const GoldenStep& step, size_t row, std::vector<int32_t>& history) const {
    const NgramHasher hasher(geometry_, golden_.constants);
    EXPECT_LE(step.start_pos, history.size());
    history.resize(step.start_pos);
    for (size_t i = 0; i < step.length(); ++i) {
      const int32_t id = golden_.constants.token_map.at(step.input_ids[row][i]);
      history.push_back(step.token_mask[row][i] != 0 ? id : kDead);
    }
    const size_t lookback = std::min<size_t>(step.start_pos, hasher.lookback_max());
    const absl::Span<const int32_t> window = absl::MakeConstSpan(history).subspan(step.start_pos - lookback);
    std::vector<uint64_t> ids(step.length() * geometry_.layers() * columns_);
    std::vector<uint64_t> layer_ids(step.length() * columns_);
    for (size_t layer = 0; layer < geometry_.layers(); ++layer) {
      hasher.Hash(layer, window, lookback, absl::MakeSpan(layer_ids));
      for (size_t i = 0; i < step.length(); ++i) {
        std::copy_n(&layer_ids[i * columns_], columns_, &ids[(i * geometry_.layers() + layer) * columns_]);
      }
    }
    return ids;
  }
};

TEST_P(Golden, ConstantsAreValidAndDerivable) {
  EXPECT_TRUE(ValidateHashConstants(geometry_, golden_.constants).ok())
      << ValidateHashConstants(geometry_, golden_.constants);
  EXPECT_EQ(DerivePrimes(geometry_, golden_.engram_vocab_size), golden_.constants.primes);
  EXPECT_EQ(DeriveMultipliers(geometry_), golden_.constants.multipliers);
  EXPECT_EQ(OffsetsOf(geometry_, golden_.constants.primes), golden_.constants.offsets);
  EXPECT_EQ(golden_.constants.token_map.at(golden_.pad_token_id), golden_.constants.pad_id);
}

TEST_P(Golden, HashIdsOfEveryStep) {
  ASSERT_FALSE(golden_.steps.empty());
  std::vector<std::vector<int32_t>> histories(golden_.steps.at(0).batch());
  for (size_t i = 0; i < golden_.steps.size(); ++i) {
    const GoldenStep& step = golden_.steps[i];
    const size_t count = step.length() * geometry_.layers() * columns_;
    ASSERT_EQ(step.hash_ids.size(), step.batch() * count);
    for (size_t row = 0; row < step.batch(); ++row) {
      const auto begin = step.hash_ids.begin() + static_cast<int64_t>(row * count);
      EXPECT_EQ(HashStep(step, row, histories[row]), std::vector<uint64_t>(begin, begin + static_cast<int64_t>(count)))
          << "step " << i << " batch row " << row;
    }
  }
}

TEST_P(Golden, RowsOfEveryHashId) {
  const std::vector<GoldenTable> tables = LoadGoldenTables(golden_);
  const size_t dim = geometry_.head_dim;
  const size_t scales = geometry_.scales();
  std::vector<uint16_t> row(dim);
  for (size_t i = 0; i < golden_.steps.size(); ++i) {
    const GoldenStep& step = golden_.steps[i];
    for (const std::vector<uint16_t>& rows : step.rows) {
      ASSERT_EQ(rows.size() * geometry_.layers(), step.hash_ids.size() * dim);
    }
    for (size_t at = 0; at < step.hash_ids.size(); ++at) {
      const size_t column = at % columns_;
      const size_t layer = at / columns_ % geometry_.layers();
      const size_t position = at / columns_ / geometry_.layers();
      const GoldenTable& table = tables[layer];
      DequantizeRow(absl::MakeConstSpan(table.codes).subspan(step.hash_ids[at] * dim, dim),
                    absl::MakeConstSpan(table.scales).subspan(step.hash_ids[at] * scales, scales), absl::MakeSpan(row));
      const uint16_t* wanted = &step.rows[layer].at((position * columns_ + column) * dim);
      const bool same = std::equal(row.begin(), row.end(), wanted, SameBf16);
      ASSERT_TRUE(same) << "step " << i << " position " << position << " layer " << layer << " column " << column;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Case, Golden, ::testing::ValuesIn(kGoldenNames),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace engram
