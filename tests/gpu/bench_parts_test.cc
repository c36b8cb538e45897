// The parts of the benchmark that ask nothing of a device.

#include <gmock/gmock.h>

#include <cstdint>
#include <vector>

#include "tests/gpu/bench/content.h"
#include "tests/gpu/bench/options.h"
#include "tests/gpu/bench/report.h"
#include "tests/gpu/bench/samples.h"
#include "tests/gpu/bench/sections.h"

namespace engram::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The known answers of docs/synthetic.md.
TEST(BenchContent, IsThatOfTheDocumentation) {
  const std::vector<uint8_t> first = RowOf(LayerKey(1, 1), 0, RowForm::kPacked);
  ASSERT_EQ(first.size(), 264u);
  EXPECT_THAT(
      (std::vector<uint8_t>(first.begin(), first.begin() + 16)),
      ElementsAre(0x8d, 0xb6, 0x1f, 0xa6, 0x04, 0x2d, 0x7c, 0xbd, 0xb1, 0xf0, 0x52, 0x0a, 0x09, 0xd4, 0x0c, 0x10));
  EXPECT_THAT((std::vector<uint8_t>(first.end() - 8, first.end())),
              ElementsAre(0x7c, 0x86, 0x86, 0x81, 0x7a, 0x86, 0x85, 0x85));
  const std::vector<uint8_t> last = RowOf(LayerKey(~uint64_t{0}, 14), 384016681, RowForm::kPacked);
  EXPECT_THAT(
      (std::vector<uint8_t>(last.begin(), last.begin() + 16)),
      ElementsAre(0xce, 0x6b, 0xe6, 0x14, 0x09, 0x58, 0x9f, 0xca, 0x52, 0xa6, 0xa3, 0x3e, 0x5a, 0xf8, 0xb9, 0x7e));
  EXPECT_THAT((std::vector<uint8_t>(last.end() - 8, last.end())),
              ElementsAre(0x86, 0x7d, 0x81, 0x7a, 0x83, 0x85, 0x77, 0x84));
}

TEST(BenchContent, HasNoNanAndNoZeroInFront) {
  for (uint64_t row = 0; row < 5000; ++row) {
    const std::vector<uint8_t> bytes = RowOf(LayerKey(1, 14), row, RowForm::kPacked);
    EXPECT_NE(bytes[0] & 0x7F, 0);
    for (size_t at = 0; at < kHeadDim; ++at) ASSERT_NE(bytes[at] & 0x7F, 0x7F);
  }
}

// Code 0x8d is -(1 + 5/8) * 2^-6, scale 0x7c 2^-3: -1.625 * 2^-9.
TEST(BenchContent, AsBf16) {
  const std::vector<uint8_t> row = RowOf(LayerKey(1, 1), 0, RowForm::kBf16);
  ASSERT_EQ(row.size(), 512u);
  EXPECT_EQ(row[0] | row[1] << 8, 0xBB50);
}

TEST(BenchSamples, MedianAndRates) {
  const Samples odd = SamplesOf({3, 1, 2});
  EXPECT_EQ(odd.median, 2);
  EXPECT_EQ(odd.min, 1);
  EXPECT_EQ(odd.max, 3);
  EXPECT_EQ(odd.count, 3u);
  EXPECT_EQ(SamplesOf({4, 1, 2, 3}).median, 2.5);
  EXPECT_EQ(RatesOf(10, {1, 2, 5}).median, 5);
  EXPECT_EQ(RatesOf(10, {1, 2, 5}).max, 10);
}

TEST(BenchOptions, AreParsedAndBounded) {
  const BenchOptions options =
      ParseBenchOptions({"--table-gib", "1.5", "--json", "out.json", "--quick", "--commit", "abc"}).value();
  EXPECT_EQ(options.table_bytes, 1610612736u);
  EXPECT_EQ(options.json_path, "out.json");
  EXPECT_EQ(options.commit, "abc");
  EXPECT_TRUE(options.quick);
  EXPECT_EQ(options.repetitions, 5);
  EXPECT_EQ(options.round_rows_max(), 49152u);
  EXPECT_EQ(ParseBenchOptions({})->round_rows_max(), 393216u);
  EXPECT_TRUE(ParseBenchOptions({"--machine"})->machine);
  EXPECT_EQ(ParseBenchOptions({"--quick", "--pinned-gib", "3"})->pinned_bytes, 3 * kGib);
  EXPECT_THAT(ParseBenchOptions({"--table-gib", "x"}).status().ToString(),
              HasSubstr("--table-gib is 'x'; it must be a number in [0.001, "));
  EXPECT_THAT(ParseBenchOptions({"--ranks", "1"}).status().ToString(), HasSubstr("--ranks is '1'"));
  EXPECT_THAT(ParseBenchOptions({"--seed"}).status().ToString(), HasSubstr("--seed needs a value"));
  EXPECT_THAT(ParseBenchOptions({"--fast"}).status().ToString(), HasSubstr("unknown option '--fast'"));
}

TEST(BenchReport, RowsAsJsonAndAsTable) {
  BenchReport report;
  report.Add("gather_packed", {{"placement", "DEVICE"}, {"rows", 48}}, "GB/s", SamplesOf({3, 1, 2}), 48);
  report.AddRatio("of_copy", 0.75);
  BenchReport all;
  all.Append(report.json());
  EXPECT_EQ(all.json().dump(),
            R"([{"name":"gather_packed","placement":"DEVICE","rows":48,"unit":"GB/s","median":2.0,"min":1.0,"max":3.0,)"
            R"("repetitions":3,"rows_checked":48,"of_copy":0.75}])");
  EXPECT_EQ(all.Table(),
            "name                     median            min            max unit      of\n"
            "gather_packed             2.000          1.000          3.000 GB/s      placement=DEVICE rows=48 "
            "of_copy=0.750\n");
}

TEST(BenchSections, WhatRankZeroFoundComesBack) {
  const absl::StatusOr<Json> json = RunSection(2, absl::Minutes(1), [](Collective& collective, Json& found) {
    found = {{"rank", collective.rank()}, {"ranks", collective.ranks()}};
    return absl::OkStatus();
  });
  ASSERT_EQ(json.status(), absl::OkStatus());
  EXPECT_EQ(json->dump(), R"({"rank":0,"ranks":2})");
}

TEST(BenchSections, AFailureOfAnyRankIsTheSections) {
  const absl::StatusOr<Json> json = RunSection(3, absl::Minutes(1), [](Collective& collective, Json&) {
    return collective.rank() == 2 ? absl::DataLossError("row 5 is wrong") : absl::OkStatus();
  });
  EXPECT_EQ(json.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(json.status().ToString(), HasSubstr("rank 2: exit code 1\nDATA_LOSS: row 5 is wrong"));
}

}  // namespace
}  // namespace engram::bench
