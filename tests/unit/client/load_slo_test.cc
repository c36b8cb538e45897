// Bounds, and the exit codes that follow from them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/load/slo.h"
#include "client/tool/load_output.h"
#include "tests/unit/client/load_sample.h"

namespace engram {
namespace {

using testing::HasSubstr;

TEST(SloTest, JudgesLatenciesRatesAndErrors) {
  const auto bounds =
      ParseSlo("p50_ms=51,decode.p99_ms=98,prefill.p50_ms=100,error_rate=0.05,tokens_per_s=40,steps_per_s=12");
  ASSERT_TRUE(bounds.ok()) << bounds.status();
  const std::vector<SloResult> results = JudgeSlo(*bounds, Sample());
  ASSERT_EQ(results.size(), 6u);
  EXPECT_NEAR(*results[0].value, 55, 0.3);  // of 110 latencies the 55th
  EXPECT_FALSE(results[0].met());
  EXPECT_NEAR(*results[1].value, 99, 0.5);
  EXPECT_FALSE(results[1].met());
  EXPECT_NEAR(*results[2].value, 100, 0.001);
  EXPECT_TRUE(results[2].met());
  EXPECT_DOUBLE_EQ(*results[3].value, 5.0 / 115);
  EXPECT_TRUE(results[3].met());
  EXPECT_DOUBLE_EQ(*results[4].value, 44.4);
  EXPECT_TRUE(results[4].met()) << "at least";
  EXPECT_DOUBLE_EQ(*results[5].value, 11);
  EXPECT_FALSE(results[5].met());
}

TEST(SloTest, ALatencyOfNoStepIsMissed) {
  const auto bounds = ParseSlo("speculative.max_ms=1000");
  ASSERT_TRUE(bounds.ok());
  const std::vector<SloResult> results = JudgeSlo(*bounds, Sample());
  EXPECT_EQ(results[0].value, std::nullopt);
  EXPECT_FALSE(results[0].met());
}

TEST(SloTest, NamesEntryValueAndBound) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "'': must be NAME=NUMBER"},
      {"p99_ms", "'p99_ms': must be NAME=NUMBER"},
      {"p98_ms=1", "'p98_ms' is none of p50_ms, p90_ms"},
      {"replay.p99_ms=1", "'replay.p99_ms' is none of"},
      {"p99_ms=fast", "p99_ms is 'fast'; it must be a number from 0 to 1e+09"},
      {"p99_ms=-1", "p99_ms is '-1'"},
      {"p99_ms=nan", "p99_ms is 'nan'"},
      {"error_rate=1.5", "error_rate is '1.5'; it must be a number from 0 to 1"},
      {"decode.error_rate=0", "no kind may stand before it"},
      {"p50_ms=1,p50_ms=2", "p50_ms stands twice"}};
  for (const auto& [text, message] : cases) {
    const auto bounds = ParseSlo(text);
    EXPECT_EQ(bounds.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(bounds.status().message()), HasSubstr(message)) << text;
  }
}

TEST(ExitCodeTest, WrongBytesBeforeAMissedBound) {
  LoadReport report = Sample();
  EXPECT_EQ(ExitCodeOf(report), 0);
  report.slo.push_back({"p99_ms", 1, 2, false});
  EXPECT_EQ(ExitCodeOf(report), 3);
  report.checked = CheckedAnswers{1, 1, "stream 0, step 1: session 5"};
  EXPECT_EQ(ExitCodeOf(report), 1);
  EXPECT_THAT(ReportAsText(report), HasSubstr("WRONG: stream 0, step 1: session 5"));
  LoadReport nothing;
  EXPECT_EQ(ExitCodeOf(nothing), 1) << "a run without a step is no success";
}

}  // namespace
}  // namespace engram
