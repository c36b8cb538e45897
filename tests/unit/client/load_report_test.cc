// Reports written down: JSON, HTML and its charts.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "client/load/chart.h"
#include "client/load/report_html.h"
#include "client/load/report_json.h"
#include "client/load/slo.h"
#include "tests/unit/client/load_sample.h"

namespace engram {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(ReportJsonTest, HasTheFigures) {
  LoadReport report = Sample();
  report.slo = JudgeSlo(*ParseSlo("p99_ms=500,speculative.p99_ms=1"), report);
  const auto json = nlohmann::json::parse(ReportAsJson(report));
  EXPECT_EQ(json["format"], 1);
  EXPECT_EQ(json["server"]["name"], "<model> & \"co\"");
  EXPECT_EQ(json["steps"]["decode"]["ok"], 100);
  EXPECT_NEAR(json["steps"]["decode"]["latency"]["p50_ms"].get<double>(), 50, 0.25);
  EXPECT_DOUBLE_EQ(json["steps"]["all"]["tokens_per_s"], 44.4);
  EXPECT_EQ(json["errors"]["steps"]["UNAVAILABLE"], 4);
  EXPECT_EQ(json["errors"]["segments"]["FAILED_PRECONDITION"], 1);
  EXPECT_DOUBLE_EQ(json["server_stages"]["gather_ms"], 70);
  EXPECT_TRUE(json["verified"].is_null());
  EXPECT_EQ(json["slo"][0]["met"], true);
  EXPECT_TRUE(json["slo"][1]["value"].is_null());
  EXPECT_EQ(json["timeline"][0]["steps"], 110);
  uint64_t counted = 0;
  for (const auto& bar : json["steps"]["decode"]["distribution"]) counted += bar["count"].get<uint64_t>();
  EXPECT_EQ(counted, 100u);
}

TEST(ReportHtmlTest, IsOnePageThatNeedsNothingElse) {
  const std::string html = ReportAsHtml(Sample());
  for (const char* outside : {"http:", "https:", "src=", "href=", "@import", "url("})
    EXPECT_THAT(html, Not(HasSubstr(outside)));
  EXPECT_THAT(html, HasSubstr("&lt;model&gt; &amp; &quot;co&quot;"));
  EXPECT_THAT(html, HasSubstr("&lt;gone&gt;"));
  EXPECT_THAT(html, Not(HasSubstr("<gone>")));
  EXPECT_THAT(html, HasSubstr("prefers-color-scheme: dark"));
  EXPECT_THAT(html, HasSubstr("<td>decode</td><td>100</td><td>5</td>"));
  EXPECT_THAT(html, HasSubstr("gather: 700 us a round (70.0 %)"));
}

TEST(ReportHtmlTest, StandsWithoutAnyStep) {
  const std::string html = ReportAsHtml(LoadReport());
  EXPECT_THAT(html, HasSubstr("Nothing to draw."));
  EXPECT_THAT(html, HasSubstr("The server does not tell its stage times."));
  for (const char* broken : {"nan", "inf"}) EXPECT_THAT(html, Not(HasSubstr(broken)));
}

TEST(AxisTest, TicksAreRound) {
  EXPECT_THAT(Axis::Linear(0, 17, 0, 100).ticks(), ElementsAre(0, 5, 10, 15, 20));
  EXPECT_THAT(Axis::Log(0.2, 30, 0, 100).ticks(), ElementsAre(0.1, 1, 10, 100));
  EXPECT_DOUBLE_EQ(Axis::Linear(0, 20, 0, 100).PixelOf(5), 25);
  EXPECT_DOUBLE_EQ(Axis::Log(0.1, 10, 0, 100).PixelOf(1), 50);
  EXPECT_DOUBLE_EQ(Axis::Log(0.1, 10, 200, 0).PixelOf(0), 200) << "what is outside lies on the end";
}

TEST(ShortNumberTest, NeedsNoExponentWhereItCan) {
  EXPECT_EQ(ShortNumber(0), "0");
  EXPECT_EQ(ShortNumber(5), "5");
  EXPECT_EQ(ShortNumber(123456.7), "123457");
  EXPECT_EQ(ShortNumber(0.25), "0.25");
  EXPECT_EQ(ShortNumber(99.999), "99.999");
  EXPECT_EQ(ShortNumber(0.00001), "1e-05");
}

TEST(ChartTest, LeavesEmptySeriesOut) {
  const std::string chart =
      LineChart({"label", "x", "y", false, false, false}, {{"none", {}}, {"one<", {{0, 1}, {1, 2}}}});
  EXPECT_THAT(chart, Not(HasSubstr("none")));
  EXPECT_THAT(chart, HasSubstr("one&lt;"));
  EXPECT_THAT(chart, HasSubstr("<polyline class=\"line0\" points=\"76.0,133.0 844.0,30.0 \"/>"));
}

}  // namespace
}  // namespace engram
