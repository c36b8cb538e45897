#include "model/ngram_hash.h"

#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/primes.h"

namespace engram {
namespace {

using ::testing::ElementsAre;

void ExpectRemainders(uint64_t prime, std::mt19937_64& random) {
  const uint64_t reciprocal = ReciprocalOf(prime);
  const auto check = [&](uint64_t r) {
    ASSERT_EQ(RemainderByReciprocal(r, prime, reciprocal), r % prime) << r << " mod " << prime;
  };
  for (const uint64_t end : {uint64_t{1} << 63, UINT64_MAX}) {
    const uint64_t last_multiple = end / prime * prime;
    for (uint64_t step = 0; step < 4; ++step) {
      check(step);
      check(prime - 1 + step);
      check(end - step);
      check(last_multiple + step % prime);
      check(last_multiple - step);
    }
  }
  for (int i = 0; i < 1000; ++i) check(random());
  for (int i = 0; i < 1000; ++i) check(random() / prime * prime - i % 2);
}

TEST(RemainderByReciprocal, ThePrimesOfTheFullSize) {
  std::mt19937_64 random(1);
  for (const int64_t prime : PrimesFrom(16000000, 200)) ExpectRemainders(static_cast<uint64_t>(prime), random);
}

TEST(RemainderByReciprocal, SmallAndLargePrimes) {
  std::mt19937_64 random(2);
  for (const uint64_t start : {uint64_t{2}, uint64_t{65500}, (uint64_t{1} << 32) - 100, (uint64_t{1} << 40) - 100}) {
    for (const int64_t prime : PrimesFrom(start, 20)) ExpectRemainders(static_cast<uint64_t>(prime), random);
  }
}

TEST(ReciprocalOf, IsTheFloorOf2To64OverThePrime) {
  EXPECT_EQ(ReciprocalOf(2), 0x8000000000000000u);
  EXPECT_EQ(ReciprocalOf(3), 0x5555555555555555u);
  EXPECT_EQ(ReciprocalOf(16000057), 1152917397338u);
}

// One layer, trigrams, one head: columns are (newest, 1 back) mod 101 and (newest, 1 back, 2 back) mod 103.
struct Small {
  Geometry geometry;
  HashConstants constants;

  Small() {
    geometry.layer_ids = {7};
    geometry.rows = {204};
    geometry.max_ngram_size = 3;
    geometry.heads = 1;
    geometry.head_dim = 32;
    geometry.vocab_size = 16;
    geometry.compressed_vocab_size = 16;
    constants.token_map = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    constants.pad_id = 9;
    constants.multipliers = {1001, 2003, 3007};
    constants.primes = {101, 103};
    constants.offsets = {0, 101};
  }

  std::vector<uint64_t> Hash(const std::vector<int32_t>& window, size_t lookback) const {
    const NgramHasher hasher(geometry, constants);
    std::vector<uint64_t> ids((window.size() - lookback) * hasher.columns());
    hasher.Hash(0, window, lookback, absl::MakeSpan(ids));
    return ids;
  }
};

std::vector<uint64_t> ByHand(uint64_t newest, uint64_t one_back, uint64_t two_back) {
  const uint64_t bigram = (newest * 1001) ^ (one_back * 2003);
  return {bigram % 101, (bigram ^ (two_back * 3007)) % 103 + 101};
}

// 4*1001 = 4004, 3*2003 = 6009, 2*3007 = 6014; 4004^6009 = 6365, mod 101 = 2; 6365^6014 = 4003, mod 103 = 89.
TEST(NgramHasher, LiteralKnownAnswer) { EXPECT_THAT(Small().Hash({2, 3, 4}, 2), ElementsAre(2, 190)); }

TEST(NgramHasher, BeforeTheSequenceThereArePads) {
  const Small small;
  EXPECT_EQ(small.Hash({4}, 0), ByHand(4, 9, 9));
  EXPECT_EQ(small.Hash({3, 4}, 1), ByHand(4, 3, 9));
}

TEST(NgramHasher, ADeadPositionBlocksAllThatIsOlder) {
  const Small small;
  EXPECT_EQ(small.Hash({2, kDead, 4}, 2), ByHand(4, 9, 9));  // 2 lies behind the dead one
  EXPECT_EQ(small.Hash({kDead, 3, 4}, 2), ByHand(4, 3, 9));
  EXPECT_EQ(small.Hash({2, 3, kDead}, 2), ByHand(9, 9, 9));
}

TEST(NgramHasher, ATokenEqualToThePadBlocksNothing) { EXPECT_EQ(Small().Hash({2, 9, 4}, 2), ByHand(4, 9, 2)); }

TEST(NgramHasher, NothingToHash) {
  EXPECT_THAT(Small().Hash({2, 3}, 2), ElementsAre());
  EXPECT_THAT(Small().Hash({}, 0), ElementsAre());
}

TEST(NgramHasher, RefusesBrokenPromises) {
  const Small small;
  const NgramHasher hasher(small.geometry, small.constants);
  std::vector<uint64_t> ids(2);
  const std::vector<int32_t> window = {1, 2, 3, 4};
  EXPECT_DEATH(hasher.Hash(1, window, 3, absl::MakeSpan(ids)), "check failed");
  EXPECT_DEATH(hasher.Hash(0, window, 3, absl::MakeSpan(ids)), "check failed");  // look-back of 3 > lookback_max
  EXPECT_DEATH(hasher.Hash(0, window, 2, absl::MakeSpan(ids)), "check failed");  // room for one position, two given
}

}  // namespace
}  // namespace engram
