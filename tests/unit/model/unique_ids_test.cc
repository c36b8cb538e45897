#include "model/unique_ids.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <unordered_map>
#include <vector>

namespace engram {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Against std::unordered_map.
void ExpectNumbered(const UniqueIds& found, const std::vector<uint64_t>& ids) {
  std::unordered_map<uint64_t, uint32_t> numbers;
  std::vector<uint64_t> unique;
  ASSERT_EQ(found.index().size(), ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto [at, fresh] = numbers.emplace(ids[i], static_cast<uint32_t>(unique.size()));
    if (fresh) unique.push_back(ids[i]);
    ASSERT_EQ(found.index()[i], at->second) << "id " << i;
  }
  ASSERT_EQ(found.unique().size(), unique.size());
  for (size_t i = 0; i < unique.size(); ++i) ASSERT_EQ(found.unique()[i], unique[i]) << "unique id " << i;
}

TEST(UniqueIds, NumbersInOrderOfFirstOccurrence) {
  UniqueIds ids;
  ids.Build(std::vector<uint64_t>{70, 0, 70, ~uint64_t{0}, 0, 5, 70});
  EXPECT_THAT(ids.unique(), ElementsAre(70, 0, ~uint64_t{0}, 5));
  EXPECT_THAT(ids.index(), ElementsAre(0, 1, 0, 2, 1, 3, 0));
}

TEST(UniqueIds, ForgetsTheListBefore) {
  UniqueIds ids;
  EXPECT_THAT(ids.unique(), IsEmpty());
  ids.Build(std::vector<uint64_t>{1, 2, 3, 2});
  ids.Build(std::vector<uint64_t>{3});
  EXPECT_THAT(ids.unique(), ElementsAre(3));
  EXPECT_THAT(ids.index(), ElementsAre(0));
  ids.Build({});
  EXPECT_THAT(ids.unique(), IsEmpty());
  EXPECT_THAT(ids.index(), IsEmpty());
}

TEST(UniqueIds, AllEqualAndAllDifferent) {
  UniqueIds ids;
  const std::vector<uint64_t> equal(10000, 12345);
  ids.Build(equal);
  ExpectNumbered(ids, equal);
  std::vector<uint64_t> different(10000);
  for (size_t i = 0; i < different.size(); ++i) different[i] = i << 40 | i;
  ids.Build(different);
  ExpectNumbered(ids, different);
  EXPECT_EQ(ids.unique().size(), 10000u);
}

// With multiplier 1 the slot is the id's top bits: all of these begin at slot 0, or at the last one and go around.
TEST(UniqueIds, CollidingIdsAreToldApart) {
  for (const uint64_t top : {uint64_t{0}, ~uint64_t{0} << 32}) {
    std::vector<uint64_t> colliding;
    for (uint64_t i = 0; i < 3000; ++i) colliding.push_back(top | (i * i) % 1000);
    UniqueIds ids(1);
    ids.Build(colliding);
    ExpectNumbered(ids, colliding);
  }
}

TEST(UniqueIds, AgreesWithAMapOverRandomLists) {
  std::mt19937_64 random(20260401);
  UniqueIds ids;
  for (int round = 0; round < 300; ++round) {
    std::vector<uint64_t> list(random() % (round % 10 == 0 ? 20000 : 200));
    const uint64_t kinds = 1 + random() % (2 * list.size() + 1);
    const uint64_t spread = random() % 2 == 0 ? 1 : 0x9E3779B97F4A7C15u;
    for (uint64_t& id : list) id = random() % kinds * spread;
    ids.Build(list);
    ASSERT_NO_FATAL_FAILURE(ExpectNumbered(ids, list)) << "round " << round;
  }
}

}  // namespace
}  // namespace engram
