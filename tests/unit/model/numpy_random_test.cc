#include "model/numpy_random.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace engram {
namespace {

using ::testing::ElementsAre;

std::vector<uint64_t> Integers(uint64_t seed, uint64_t bound, int count) {
  NumpyRandom random(seed);
  std::vector<uint64_t> values;
  for (int i = 0; i < count; ++i) values.push_back(random.Bounded(bound));
  return values;
}

// All literals were printed by numpy 2.4.6.

// default_rng(seed).bit_generator.random_raw(3)
TEST(NumpyRandom, RawWords) {
  NumpyRandom zero(0);
  EXPECT_EQ(zero.Next64(), 0xa30febcfd9c2825fu);
  EXPECT_EQ(zero.Next64(), 0x4510bdf882d9d721u);
  EXPECT_EQ(zero.Next64(), 0x0a7d3da94ecde8b8u);
  NumpyRandom widest(UINT64_MAX);
  EXPECT_EQ(widest.Next64(), 0xae163a7a8c47568fu);
  EXPECT_EQ(widest.Next64(), 0xd86659f5f3382359u);
  EXPECT_EQ(widest.Next64(), 0x01e52b195bc2d24au);
}

// default_rng(seed).integers(0, bound, size=n, dtype=int64)
TEST(NumpyRandom, BoundsDrawnFrom32BitWords) {
  EXPECT_THAT(Integers(0, 1, 3), ElementsAre(0, 0, 0));
  EXPECT_THAT(Integers(12345, 10, 6), ElementsAre(6, 2, 7, 3, 2, 7));
  EXPECT_THAT(Integers((uint64_t{1} << 40) + 3, 1000003, 4), ElementsAre(733164, 773658, 444678, 995860));
  EXPECT_THAT(Integers(12345, UINT32_MAX, 5), ElementsAre(3003105692, 976400780, 3387213021, 1360466708, 876933080));
  EXPECT_THAT(Integers(0, uint64_t{1} << 32, 3), ElementsAre(3653403231, 2735729615, 2195314465));
}

TEST(NumpyRandom, HalfOfTheDrawsRejected) {
  EXPECT_THAT(Integers(7, (uint64_t{1} << 31) + 1, 8),
              ElementsAre(1926751966, 1241873585, 1790251937, 483628757, 119253154, 644602188, 1959843384, 1073283950));
  EXPECT_THAT(Integers(7, (uint64_t{1} << 62) + 1, 6),
              ElementsAre(2882744023523087011, 3577218852397956697, 1038584849328933328, 1384272659328390225,
                          4028554210483014093, 3675833940291716696));
}

TEST(NumpyRandom, BoundsDrawnFrom64BitWords) {
  EXPECT_THAT(Integers(0, (uint64_t{1} << 32) + 1, 3), ElementsAre(2735729616, 1158725112, 175979945));
  EXPECT_THAT(Integers(7, INT64_MAX, 4),
              ElementsAre(5765488047046174020, 8275336682942969161, 7154437704795913392, 2077169698657866656));
}

TEST(NumpyRandom, NoBoundIsABug) { EXPECT_DEATH(NumpyRandom(1).Bounded(0), "check failed"); }

}  // namespace
}  // namespace engram
