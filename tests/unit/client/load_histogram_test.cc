#include "client/load/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace engram {
namespace {

absl::Duration Ns(int64_t ns) { return absl::Nanoseconds(ns); }

TEST(LatencyHistogramTest, SmallValuesAreExact) {
  LatencyHistogram histogram;
  for (int64_t ns = 1; ns <= 100; ++ns) histogram.Add(Ns(ns));
  EXPECT_EQ(histogram.count(), 100u);
  EXPECT_EQ(histogram.Quantile(0.5), Ns(50));
  EXPECT_EQ(histogram.Quantile(0.9), Ns(90));
  EXPECT_EQ(histogram.Quantile(0.99), Ns(99));
  EXPECT_EQ(histogram.Quantile(0.001), Ns(1));
  EXPECT_EQ(histogram.Quantile(1), Ns(100));
  EXPECT_EQ(histogram.min(), Ns(1));
  EXPECT_EQ(histogram.max(), Ns(100));
  EXPECT_EQ(histogram.mean(), absl::Nanoseconds(50.5));
}

TEST(LatencyHistogramTest, KnownBucketOfALargeValue) {
  // 1,000,000 lies in [2^19, 2^20), cut into 128 buckets of 4096: in the bucket from 999,424 to 1,003,519.
  LatencyHistogram histogram;
  histogram.Add(Ns(1'000'000));
  histogram.Add(Ns(2'000'000'000));
  EXPECT_EQ(histogram.Quantile(0.5), Ns((999'424 + 1'003'519) / 2));
  EXPECT_EQ(histogram.max(), absl::Seconds(2));
}

TEST(LatencyHistogramTest, OneValueIsEveryQuantile) {
  LatencyHistogram histogram;
  histogram.Add(Ns(123'456'789));
  for (const double share : {0.0, 0.5, 0.999, 1.0}) EXPECT_EQ(histogram.Quantile(share), Ns(123'456'789)) << share;
}

TEST(LatencyHistogramTest, WithoutValuesAllIsZero) {
  const LatencyHistogram histogram;
  EXPECT_EQ(histogram.Quantile(0.99), absl::ZeroDuration());
  EXPECT_EQ(histogram.max(), absl::ZeroDuration());
  EXPECT_EQ(histogram.mean(), absl::ZeroDuration());
  EXPECT_TRUE(histogram.Bars(8).empty());
}

TEST(LatencyHistogramTest, NegativeCountsAsZeroAndHugeInTheLastBucket) {
  LatencyHistogram histogram;
  histogram.Add(Ns(-5));
  EXPECT_EQ(histogram.max(), absl::ZeroDuration());
  histogram.Add(absl::Hours(100));
  EXPECT_EQ(histogram.max(), absl::Hours(100));
  EXPECT_EQ(histogram.Quantile(1), absl::Hours(100));
  EXPECT_EQ(histogram.Quantile(0.5), absl::ZeroDuration());
}

// Against sorted values, over eight orders of magnitude.
TEST(LatencyHistogramTest, QuantilesAreWithinOnePercent) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> exponent(2, 10);
  std::vector<int64_t> values;
  LatencyHistogram histogram;
  for (int i = 0; i < 20'000; ++i) {
    values.push_back(static_cast<int64_t>(std::pow(10, exponent(random))));
    histogram.Add(Ns(values.back()));
  }
  std::sort(values.begin(), values.end());
  for (const double share : {0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999}) {
    const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(values.size())));
    const auto exact = static_cast<double>(values[rank - 1]);
    const double told = absl::ToDoubleNanoseconds(histogram.Quantile(share));
    EXPECT_LT(std::abs(told - exact) / exact, 0.005) << share;
  }
}

TEST(LatencyHistogramTest, MergingIsAddingAll) {
  LatencyHistogram one;
  LatencyHistogram two;
  LatencyHistogram both;
  for (int64_t i = 1; i < 500; ++i) {
    (i % 2 == 0 ? one : two).Add(Ns(i * i * 1000));
    both.Add(Ns(i * i * 1000));
  }
  one.Merge(two);
  one.Merge(LatencyHistogram());
  EXPECT_EQ(one.count(), both.count());
  EXPECT_EQ(one.min(), both.min());
  EXPECT_EQ(one.max(), both.max());
  EXPECT_EQ(one.mean(), both.mean());
  for (const double share : {0.1, 0.5, 0.99}) EXPECT_EQ(one.Quantile(share), both.Quantile(share));
}

TEST(LatencyHistogramTest, BarsHoldEveryValueOnce) {
  LatencyHistogram histogram;
  histogram.Add(Ns(1'000));  // in [2^9, 2^10), of 8 bars the last: from 960
  histogram.Add(Ns(1'000));
  histogram.Add(Ns(1'000'000));  // in [2^19, 2^20), the last bar: from 983,040
  const auto bars = histogram.Bars(8);
  ASSERT_EQ(bars.size(), 2u);
  EXPECT_EQ(bars[0].from, Ns(960));
  EXPECT_EQ(bars[0].to, Ns(1024));
  EXPECT_EQ(bars[0].count, 2u);
  EXPECT_EQ(bars[1].from, Ns(983'040));
  EXPECT_EQ(bars[1].to, Ns(1'048'576));
  EXPECT_EQ(bars[1].count, 1u);
}

TEST(LatencyHistogramTest, ClearedIsAsNew) {
  LatencyHistogram histogram;
  histogram.Add(Ns(500));
  histogram.Clear();
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.Quantile(0.5), absl::ZeroDuration());
  histogram.Add(Ns(70));
  EXPECT_EQ(histogram.min(), Ns(70));
  EXPECT_EQ(histogram.max(), Ns(70));
}

}  // namespace
}  // namespace engram
