// Runs whose steps start when they are intended to, whatever the server does.

#include <gtest/gtest.h>

#include "tests/unit/client/load_fixture.h"

namespace engram {
namespace {

TEST_F(LoadRunTest, AnOpenLoopKeepsItsRate) {
  options_.arrival = ArrivalKind::kFixed;
  options_.rate = 100;
  options_.streams = 2;
  options_.duration = absl::Milliseconds(500);
  const LoadReport report = Go();
  EXPECT_NEAR(static_cast<double>(report.total.All().ok), 50, 4);
  EXPECT_EQ(report.total.starts_dropped, 0u);
  EXPECT_TRUE(report.open_loop);
}

TEST_F(LoadRunTest, AnUnreachableRateShowsInLatencyAndIsBounded) {
  options_.arrival = ArrivalKind::kPoisson;
  options_.rate = 500'000;
  options_.due_max = 1000;
  options_.verify_fraction = 0;
  const LoadReport report = Go();
  EXPECT_GT(report.total.starts_dropped, 10'000u);
  // The queue is full but for what was started since the generator last looked, and never fuller.
  EXPECT_LE(report.starts_left, 1000u);
  EXPECT_GE(report.starts_left, 900u);
  EXPECT_GT(report.oldest_left, absl::ZeroDuration());
  EXPECT_GT(report.total.ErrorRate(), 0.5);
  const KindTally all = report.total.All();
  ASSERT_GT(all.ok, 0u);
  // A thousand starts wait before each, counted from when they were intended.
  EXPECT_GT(all.latency.Quantile(0.5), absl::Milliseconds(5));
  EXPECT_GT(report.total.start_delay.Quantile(0.5), absl::Milliseconds(5));
}

}  // namespace
}  // namespace engram
