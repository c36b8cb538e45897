#include <functional>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/hash_constants.h"
#include "tests/unit/model/small_constants.h"

namespace engram {
namespace {

using ::testing::HasSubstr;
using Small = SmallConstants;

TEST(ValidateHashConstants, AcceptsWhatFits) {
  const Small small;
  EXPECT_TRUE(ValidateHashConstants(small.geometry, small.constants).ok());
}

TEST(ValidateHashConstants, AcceptsProductsJustBelowTheBound) {
  Small small;
  small.constants.multipliers[0] = INT64_MAX / 2;  // times compressed id 2
  EXPECT_TRUE(ValidateHashConstants(small.geometry, small.constants).ok());
  small.geometry.compressed_vocab_size = 1;
  small.constants.token_map = {0, 0, 0, 0, 0};
  small.constants.pad_id = 0;
  small.constants.multipliers[0] = INT64_MAX;
  EXPECT_TRUE(ValidateHashConstants(small.geometry, small.constants).ok());
}

struct Broken {
  const char* name;
  std::function<void(Small&)> change;
  const char* message;
};

class BrokenConstants : public ::testing::TestWithParam<Broken> {};

TEST_P(BrokenConstants, AreRefusedByName) {
  Small small;
  GetParam().change(small);
  const absl::Status status = ValidateHashConstants(small.geometry, small.constants);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().message));
}

const Broken kBroken[] = {
    {"geometry", [](Small& s) { s.geometry.heads = 0; }, "engram_n_heads = 0"},
    {"map_short", [](Small& s) { s.constants.token_map.pop_back(); }, "token_map has 4 values, need 5 (vocab_size)"},
    {"multipliers_long", [](Small& s) { s.constants.multipliers.push_back(1); }, "multipliers has 5 values, need 4"},
    {"primes_none", [](Small& s) { s.constants.primes.clear(); }, "primes has 0 values, need 4"},
    {"offsets_short", [](Small& s) { s.constants.offsets.pop_back(); }, "offsets has 3 values, need 4"},
    {"id_negative", [](Small& s) { s.constants.token_map[3] = -1; }, "token_map[3] = -1 is outside [0, 3)"},
    {"id_high", [](Small& s) { s.constants.token_map[0] = 3; }, "token_map[0] = 3 is outside [0, 3)"},
    {"pad_negative", [](Small& s) { s.constants.pad_id = -1; }, "pad_id = -1 is outside [0, 3)"},
    {"pad_high", [](Small& s) { s.constants.pad_id = 3; }, "pad_id = 3 is outside [0, 3)"},
    {"multiplier_0", [](Small& s) { s.constants.multipliers[3] = 0; }, "multipliers[1][1] = 0 is outside [1, "},
    {"multiplier_negative", [](Small& s) { s.constants.multipliers[1] = -7; }, "multipliers[0][1] = -7"},
    {"multiplier_high", [](Small& s) { s.constants.multipliers[2] = INT64_MAX / 2 + 1; },
     "multipliers[1][0] = 4611686018427387904 is outside [1, 4611686018427387903]"},
    {"prime_1", [](Small& s) { s.constants.primes[0] = 1; }, "primes[layer 1][column 0] = 1 is outside [2, 2^40)"},
    {"prime_negative", [](Small& s) { s.constants.primes[3] = -13; }, "primes[layer 4][column 1] = -13"},
    {"prime_huge", [](Small& s) { s.constants.primes[2] = int64_t{1} << 40; },
     "primes[layer 4][column 0] = 1099511627776 is outside"},
    {"offset_wrong", [](Small& s) { s.constants.offsets[3] = 12; },
     "offsets[layer 4][column 1] = 12 is not 11, the sum of the primes before it"},
    {"offset_not_0", [](Small& s) { s.constants.offsets[0] = 1; }, "offsets[layer 1][column 0] = 1 is not 0"},
    {"rows_differ", [](Small& s) { s.geometry.rows[1] = 25; }, "primes of layer 4 add up to 24, but its table"},
};

INSTANTIATE_TEST_SUITE_P(Each, BrokenConstants, ::testing::ValuesIn(kBroken),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(DerivePrimes, AStartTooHighIsRefusedLater) {
  Small small;
  small.constants.primes = DerivePrimes(small.geometry, UINT64_MAX);
  small.constants.offsets = OffsetsOf(small.geometry, small.constants.primes);
  EXPECT_THAT(std::string(ValidateHashConstants(small.geometry, small.constants).message()),
              HasSubstr("primes[layer 1][column 0] = 1099511627791 is outside [2, 2^40)"));
}

}  // namespace
}  // namespace engram
