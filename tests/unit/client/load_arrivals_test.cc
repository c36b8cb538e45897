#include "client/load/arrivals.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "client/load/tally.h"

namespace engram {
namespace {

constexpr LoadTime kBegin = LoadTime(std::chrono::seconds(100));
LoadTime At(int64_t ms) { return kBegin + std::chrono::milliseconds(ms); }

std::vector<double> Milliseconds(const Arrivals& arrivals, size_t count) {
  std::vector<double> starts;
  for (size_t i = 0; i < count; ++i) starts.push_back(absl::ToDoubleMilliseconds(*arrivals()));
  return starts;
}

TEST(ArrivalsTest, FixedStartsAreEvenlySpaced) {
  EXPECT_EQ(Milliseconds(FixedArrivals(200, 0, 1), 4), (std::vector<double>{0, 5, 10, 15}));
}

TEST(ArrivalsTest, StreamsTakeTurns) {
  EXPECT_EQ(Milliseconds(FixedArrivals(200, 0, 2), 3), (std::vector<double>{0, 10, 20}));
  EXPECT_EQ(Milliseconds(FixedArrivals(200, 1, 2), 3), (std::vector<double>{5, 15, 25}));
}

TEST(ArrivalsTest, FixedStartsDoNotDrift) {
  const Arrivals arrivals = FixedArrivals(3, 0, 1);
  std::optional<absl::Duration> start;
  for (int i = 0; i <= 300'000; ++i) start = arrivals();
  EXPECT_LT(absl::AbsDuration(*start - absl::Seconds(100'000)), absl::Microseconds(1));
}

// Of an exponential distribution the standard deviation is the mean.
TEST(ArrivalsTest, PoissonGapsHaveTheMeanAndTheSpread) {
  const Arrivals arrivals = PoissonArrivals(1000, 2, 5);
  constexpr int kGaps = 100'000;
  double last = 0;
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < kGaps; ++i) {
    const double start = absl::ToDoubleMilliseconds(*arrivals());
    ASSERT_GE(start, last);
    sum += start - last;
    squares += (start - last) * (start - last);
    last = start;
  }
  const double mean = sum / kGaps;
  EXPECT_NEAR(mean, 2, 0.03);
  EXPECT_NEAR(std::sqrt(squares / kGaps - mean * mean), 2, 0.05);
}

TEST(ArrivalsTest, TheSeedDecides) {
  EXPECT_EQ(Milliseconds(PoissonArrivals(10, 1, 3), 5), Milliseconds(PoissonArrivals(10, 1, 3), 5));
  EXPECT_NE(Milliseconds(PoissonArrivals(10, 1, 3), 5), Milliseconds(PoissonArrivals(10, 1, 4), 5));
}

TEST(IntendedStartsTest, HandsOutWhatIsDueInOrder) {
  IntendedStarts starts(FixedArrivals(100, 0, 1), kBegin, 10);
  starts.Advance(At(0));
  EXPECT_EQ(starts.due(), 1u);
  EXPECT_EQ(starts.next(), At(10));
  starts.Advance(At(25));
  EXPECT_EQ(starts.due(), 3u);
  EXPECT_EQ(starts.Pop(), At(0));
  EXPECT_EQ(starts.Pop(), At(10));
  EXPECT_EQ(starts.Pop(), At(20));
  EXPECT_EQ(starts.Pop(), std::nullopt);
  EXPECT_EQ(starts.dropped(), 0u);
}

TEST(IntendedStartsTest, DropsAndCountsBeyondTheBound) {
  IntendedStarts starts(FixedArrivals(1000, 0, 1), kBegin, 4);
  starts.Advance(At(99));
  EXPECT_EQ(starts.due(), 4u);
  EXPECT_EQ(starts.dropped(), 96u);
  EXPECT_EQ(starts.Pop(), At(0));
  starts.Advance(At(100));  // one has room again
  EXPECT_EQ(starts.due(), 4u);
  EXPECT_EQ(starts.dropped(), 96u);
}

TEST(IntendedStartsTest, EndsWithItsArrivals) {
  int left = 2;
  IntendedStarts starts(
      [&left]() -> std::optional<absl::Duration> {
        return left-- > 0 ? std::optional(absl::Milliseconds(3)) : std::nullopt;
      },
      kBegin, 4);
  starts.Advance(At(1000));
  EXPECT_EQ(starts.due(), 2u);
  EXPECT_EQ(starts.next(), LoadTime::max());
}

// A server that stands still for a second: a step each 10 ms is due meanwhile and each waits for the rest of it.
TEST(IntendedStartsTest, AStallShowsInTheLatencies) {
  IntendedStarts starts(FixedArrivals(100, 0, 1), kBegin, 1000);
  LoadTally tally;
  LoadTime now = kBegin;
  for (int step = 0; step < 200; ++step) {
    starts.Advance(now);
    if (starts.due() == 0) now = starts.next();
    starts.Advance(now);
    StepOutcome outcome;
    outcome.intended = *starts.Pop();
    outcome.sent = now;
    now += step == 50 ? std::chrono::milliseconds(1000) : std::chrono::milliseconds(1);
    outcome.finished = now;
    tally.Add(outcome);
  }
  const KindTally& decode = tally.of(StepKind::kDecode);
  EXPECT_EQ(decode.latency.max(), absl::Milliseconds(1000));
  // Steps 0 to 49, and all after 1000 / 9 = 111 that the stall delayed, took 1 ms.
  EXPECT_EQ(decode.latency.min(), absl::Milliseconds(1));
  EXPECT_NEAR(absl::ToDoubleMilliseconds(decode.latency.Quantile(0.75)), 1000 - 9 * 50, 20);
  EXPECT_EQ(tally.start_delay.max(), absl::Milliseconds(990));
}

}  // namespace
}  // namespace engram
