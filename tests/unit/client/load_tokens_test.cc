#include "client/load/token_draw.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace engram {
namespace {

using testing::HasSubstr;

struct Moments {
  double mean = 0;  // of token + 1
  double deviation = 0;
  double first = 0;  // share of token 0
};

Moments MomentsOf(double exponent, uint32_t vocab_size) {
  constexpr int kDraws = 200'000;
  const ZipfTokens tokens(exponent, vocab_size);
  LoadRandom random(11);
  double sum = 0;
  double squares = 0;
  double first = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double rank = tokens.Draw(random) + 1.0;
    EXPECT_LE(rank, vocab_size);
    sum += rank;
    squares += rank * rank;
    first += rank == 1 ? 1 : 0;
  }
  const double mean = sum / kDraws;
  return {mean, std::sqrt(squares / kDraws - mean * mean), first / kDraws};
}

// H(10) = 7381/2520: P(1) = 2520/7381, mean = 10/H(10), mean square = 55/H(10).
TEST(ZipfTokensTest, ExponentOneOfTen) {
  const Moments moments = MomentsOf(1, 10);
  EXPECT_NEAR(moments.first, 0.341417, 0.004);
  EXPECT_NEAR(moments.mean, 3.414172, 0.03);
  EXPECT_NEAR(moments.deviation, std::sqrt(55 / (7381.0 / 2520) - 3.414172 * 3.414172), 0.03);
}

// Sums of 1/k^2 and 1/k over 100: 1.634984 and 5.187378.
TEST(ZipfTokensTest, ExponentTwoOfAHundred) {
  const Moments moments = MomentsOf(2, 100);
  EXPECT_NEAR(moments.first, 1 / 1.634984, 0.004);
  EXPECT_NEAR(moments.mean, 5.187378 / 1.634984, 0.1);
}

TEST(ZipfTokensTest, ExponentZeroIsEven) {
  const Moments moments = MomentsOf(0, 1000);
  EXPECT_NEAR(moments.first, 0.001, 0.0005);
  EXPECT_NEAR(moments.mean, 500.5, 3);
  EXPECT_NEAR(moments.deviation, 1000 / std::sqrt(12.0), 3);
}

TEST(ZipfTokensTest, OneTokenIsAlwaysDrawn) {
  const ZipfTokens tokens(1.1, 1);
  LoadRandom random(1);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(tokens.Draw(random), 0u);
}

TEST(TextTokensTest, SessionsFollowTheText) {
  const auto tokens = TextTokens::Create({{10, 11, 12, 13}, {}, {20, 21}}, 100);
  ASSERT_TRUE(tokens.ok()) << tokens.status();
  const std::map<uint32_t, uint32_t> next = {{10, 11}, {11, 12}, {12, 13}, {20, 21}};
  LoadRandom random(3);
  std::map<uint32_t, int> seen;
  for (int session = 0; session < 50; ++session) {
    const std::unique_ptr<TokenDraw> draw = tokens->Begin(random);
    uint32_t last = draw->Next(random);
    for (int i = 0; i < 20; ++i) {
      const uint32_t token = draw->Next(random);
      ++seen[token];
      if (next.count(last) > 0) {
        EXPECT_EQ(token, next.at(last));
      } else {
        EXPECT_TRUE(token == 10 || token == 20) << token;  // a text's beginning follows its end
      }
      last = token;
    }
  }
  EXPECT_EQ(seen.size(), 6u);
}

TEST(TextTokensTest, NamesWhatIsWrong) {
  EXPECT_THAT(TextTokens::Create({{1, 2}, {3, 512}}, 512).status().message(),
              HasSubstr("text 1: tokens[1] is 512; it must be below vocab_size 512"));
  EXPECT_THAT(TextTokens::Create({{}, {}}, 512).status().message(), HasSubstr("no tokens"));
}

}  // namespace
}  // namespace engram
