// Waiting times to the digit, and whose turn it is.

#include "client/backoff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/addresses.h"

namespace engram {
namespace {

using testing::HasSubstr;

constexpr BackoffOptions kTripling{
    .initial = absl::Milliseconds(100), .max = absl::Milliseconds(1000), .multiplier = 3};

TEST(BackoffTest, TheCeilingGrowsToItsMaximum) {
  EXPECT_EQ(BackoffCeiling(kTripling, 0), absl::Milliseconds(100));
  EXPECT_EQ(BackoffCeiling(kTripling, 1), absl::Milliseconds(300));
  EXPECT_EQ(BackoffCeiling(kTripling, 2), absl::Milliseconds(900));
  EXPECT_EQ(BackoffCeiling(kTripling, 3), absl::Milliseconds(1000));
  EXPECT_EQ(BackoffCeiling(kTripling, 4000000000), absl::Milliseconds(1000));
}

// 5489 is the default seed of std::mt19937_64, whose first words are 14514284786278117030, 4620546740167642908,
// 13109570281517897720 and 17462938647148434322: 0.7868, 0.2505, 0.7107 and 0.9467 of 2^64.
TEST(BackoffTest, SpreadsEvenlyBelowTheCeilingByTheSeed) {
  Backoff backoff(kTripling, 5489);
  EXPECT_EQ(absl::ToInt64Microseconds(backoff.Next()), 78682);
  EXPECT_EQ(absl::ToInt64Microseconds(backoff.Next()), 75144);
  EXPECT_EQ(absl::ToInt64Microseconds(backoff.Next()), 639604);
  backoff.Reset();
  EXPECT_EQ(absl::ToInt64Microseconds(backoff.Next()), 94666);
}

TEST(AddressesTest, TakesTurnsAndSaysWhenAllHaveFailed) {
  Addresses addresses({"a", "b"});
  EXPECT_EQ(addresses.current(), "a");
  EXPECT_FALSE(addresses.Failed(absl::UnavailableError("away")));
  EXPECT_EQ(addresses.current(), "b");
  EXPECT_TRUE(addresses.Failed(absl::UnavailableError("away")));
  EXPECT_EQ(addresses.current(), "a");
  EXPECT_FALSE(addresses.Failed(absl::UnavailableError("away")));
  addresses.Succeeded();
  EXPECT_FALSE(addresses.Failed(absl::UnavailableError("away"))) << "counts from the last success";
}

TEST(AddressesTest, RefusalsLastUntilOneSaysSomethingElse) {
  Addresses addresses({"a", "b"});
  addresses.Failed(absl::FailedPreconditionError("model_digest is another"));
  EXPECT_TRUE(addresses.AllRefuse().ok());
  addresses.Failed(absl::UnauthenticatedError("who are you"));
  EXPECT_EQ(addresses.AllRefuse().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(addresses.AllRefuse().message(), "a: model_digest is another; b: who are you");
  addresses.Failed(absl::UnavailableError("away"));
  EXPECT_TRUE(addresses.AllRefuse().ok());
  addresses.Failed(absl::UnauthenticatedError("who are you"));
  addresses.Failed(absl::FailedPreconditionError("model_digest is another"));
  EXPECT_FALSE(addresses.AllRefuse().ok());
  addresses.Welcomed();
  EXPECT_TRUE(addresses.AllRefuse().ok());
}

}  // namespace
}  // namespace engram
