#include "model/hash_constants.h"

#include <functional>
#include <numeric>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/digest.h"
#include "model/primes.h"
#include "tests/unit/model/full_size.h"
#include "tests/unit/model/small_constants.h"

namespace engram {
namespace {

using Small = SmallConstants;
using ::testing::ElementsAre;

TEST(Primes, AreConsecutive) {
  EXPECT_THAT(PrimesFrom(0, 5), ElementsAre(2, 3, 5, 7, 11));
  EXPECT_THAT(PrimesFrom(24, 4), ElementsAre(29, 31, 37, 41));
  EXPECT_THAT(PrimesFrom(49, 2), ElementsAre(53, 59));  // 49 = 7 * 7
  EXPECT_THAT(PrimesFrom(211, 2), ElementsAre(211, 223));
  EXPECT_THAT(PrimesFrom(uint64_t{1} << 40, 1), ElementsAre(1099511627791));
}

TEST(DerivePrimes, FullSize) {
  const Geometry geometry = FullSize();
  const std::vector<int64_t> primes = DerivePrimes(geometry, 16000000);
  ASSERT_EQ(primes.size(), 48u);
  EXPECT_THAT(std::vector<int64_t>(primes.begin(), primes.begin() + 9),
              ElementsAre(16000057, 16000079, 16000081, 16000097, 16000121, 16000129, 16000133, 16000183, 16000189));
  EXPECT_EQ(primes[23], 16000463);
  EXPECT_EQ(primes[24], 16000477);
  EXPECT_EQ(primes[47], 16000889);
  EXPECT_EQ(std::set<int64_t>(primes.begin(), primes.end()).size(), 48u);
  EXPECT_EQ(std::accumulate(primes.begin(), primes.begin() + 24, int64_t{0}), 384006168);
  EXPECT_EQ(std::accumulate(primes.begin() + 24, primes.end(), int64_t{0}), 384016682);
}

// The walk as it is defined: afresh for every (layer, size), skipping what is taken.
TEST(DerivePrimes, EqualsTheWalkByDefinition) {
  Geometry geometry = FullSize();
  geometry.layer_ids = {0, 5, 9};
  for (const uint64_t start : {0, 2, 64, 97, 211}) {
    std::set<int64_t> taken;
    std::vector<int64_t> wanted;
    for (size_t walk = 0; walk < 3 * 3; ++walk) {
      int64_t value = static_cast<int64_t>(start);
      for (uint32_t head = 0; head < geometry.heads; ++value) {
        if (PrimesFrom(value, 1)[0] != value || !taken.insert(value).second) continue;
        wanted.push_back(value);
        ++head;
      }
    }
    EXPECT_EQ(DerivePrimes(geometry, start), wanted) << start;
  }
}

TEST(DeriveMultipliers, FullSize) {
  EXPECT_THAT(DeriveMultipliers(FullSize()),
              ElementsAre(76632096046245, 4839876093313, 35959672319349, 73987337458391, 67716810739261, 51510806800915,
                          30921347202721, 82619226485591));
}

// Literals printed by numpy 2.4.6.
TEST(DeriveMultipliers, OtherClassCountsAndLayers) {
  Geometry geometry = FullSize();
  geometry.layer_ids = {0, 4294967295};
  EXPECT_THAT(DeriveMultipliers(geometry), ElementsAre(59287678272599, 25111444230055, 3813769577005, 1538373747317,
                                                       78187736460987, 88946696759991, 4911508650379, 34146345322145));
  geometry.layer_ids = {1};
  geometry.compressed_vocab_size = 1;
  EXPECT_THAT(DeriveMultipliers(geometry),
              ElementsAre(7593627661414633239, 479593001838623259, 3563315849468963733, 7331553243427025311));
  geometry.compressed_vocab_size = 2147483647;  // few enough values that numpy draws 32-bit words
  geometry.max_ngram_size = 8;
  EXPECT_THAT(DeriveMultipliers(geometry), ElementsAre(644226611, 3536058433, 1659298245, 1286169411, 4096251625,
                                                       3248645799, 2461149413, 955390609));
}

TEST(OffsetsOf, StartAgainWithEachLayer) {
  Geometry geometry = FullSize();
  geometry.max_ngram_size = 2;
  geometry.heads = 3;
  EXPECT_THAT(OffsetsOf(geometry, {5, 7, 11, 13, 17, 19}), ElementsAre(0, 5, 12, 0, 13, 30));
}

// The literal is Python's hashlib.sha256 over the documented bytes.
TEST(ConstantsDigest, LiteralKnownAnswer) {
  const Small small;
  EXPECT_EQ(HexOf(ConstantsDigest(small.geometry, small.constants)),
            "d4bd24b94d3b5a8197a8c4107131a739cbd24efc7afc3d5e903a51aa68daca96");
}

TEST(ConstantsDigest, EveryFieldCounts) {
  const Small small;
  std::set<std::string> digests = {ConstantsDigest(small.geometry, small.constants)};
  const std::vector<std::function<void(Small&)>> changes = {
      [](Small& s) { s.constants.token_map[4] = 1; },
      [](Small& s) { s.constants.pad_id = 0; },
      [](Small& s) { s.constants.multipliers[3] = 11; },
      [](Small& s) { s.constants.primes[0] = 3; },
      [](Small& s) { s.constants.offsets[1] = 3; },
      [](Small& s) { s.geometry.layer_ids[1] = 5; },
      [](Small& s) { s.geometry.rows[0] = 13; },
      [](Small& s) { s.geometry.max_ngram_size = 3; },
      [](Small& s) { s.geometry.heads = 1; },
      [](Small& s) { s.geometry.head_dim = 64; },
      [](Small& s) { s.geometry.vocab_size = 6; },
      [](Small& s) { s.geometry.compressed_vocab_size = 4; },
  };
  for (const auto& change : changes) {
    Small changed;
    change(changed);
    digests.insert(ConstantsDigest(changed.geometry, changed.constants));
  }
  EXPECT_EQ(digests.size(), changes.size() + 1);
}

}  // namespace
}  // namespace engram
