#include "client/load/report_html.h"

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/load/chart.h"
#include "client/load/report_charts.h"

namespace engram {
namespace {

constexpr char kHead[] = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>engram load</title>
<style>
:root { color-scheme: light dark; --back: #ffffff; --ink: #1c2128; --soft: #57606a; --rule: #d0d7de;
  --c0: #0969da; --c1: #bc4c00; --c2: #1a7f37; --c3: #8250df; --good: #1a7f37; --bad: #cf222e; }
@media (prefers-color-scheme: dark) {
  :root { --back: #0d1117; --ink: #e6edf3; --soft: #9198a1; --rule: #30363d;
    --c0: #58a6ff; --c1: #f0883e; --c2: #56d364; --c3: #bc8cff; --good: #56d364; --bad: #ff7b72; } }
body { background: var(--back); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto;
  max-width: 920px; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid var(--rule); padding: .25rem .75rem; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
th { color: var(--soft); font-weight: 600; }
.good { color: var(--good); } .bad { color: var(--bad); } .soft { color: var(--soft); }
svg { display: block; width: 100%; height: auto; } svg text { fill: var(--soft); font: 13px system-ui, sans-serif; }
.grid { stroke: var(--rule); } .axis { stroke: var(--soft); }
.line0, .line1, .line2, .line3 { fill: none; stroke-width: 1.8; }
.line0 { stroke: var(--c0); } .line1 { stroke: var(--c1); } .line2 { stroke: var(--c2); } .line3 { stroke: var(--c3); }
.fill0 { fill: var(--c0); } .fill1 { fill: var(--c1); } .fill2 { fill: var(--c2); } .fill3 { fill: var(--c3); }
</style>
</head>
<body>
)";

using Rows = std::vector<std::vector<std::string>>;

std::string Ms(absl::Duration time) { return absl::StrFormat("%.3f", absl::ToDoubleMilliseconds(time)); }
std::string Whole(double value) { return absl::StrFormat("%.0f", value); }

// The first row is the heading.
std::string Table(const Rows& rows) {
  std::string html = "<div class=\"scroll\"><table>\n";
  for (const auto& row : rows) {
    const char* cell = &row == &rows.front() ? "th" : "td";
    html += "<tr>";
    for (const std::string& text : row) absl::StrAppend(&html, "<", cell, ">", EscapeHtml(text), "</", cell, ">");
    html += "</tr>\n";
  }
  return html + "</table></div>\n";
}

std::string Section(const std::string& title, const std::string& content) {
  return absl::StrCat("<section>\n<h2>", title, "</h2>\n", content, "</section>\n");
}

std::string Note(const std::string& text, const char* css) {
  return absl::StrCat("<p class=\"", css, "\">", EscapeHtml(text), "</p>\n");
}

std::string Verdict(const LoadReport& report) {
  if (report.wrong_bytes()) return Note("Wrong bytes: " + report.checked->failure, "bad");
  if (report.slo.empty()) return "";
  Rows rows = {{"objective", "bound", "value", ""}};
  for (const SloResult& slo : report.slo) {
    rows.push_back({slo.name, absl::StrCat(slo.at_least ? "at least " : "at most ", ShortNumber(slo.bound)),
                    slo.value.has_value() ? ShortNumber(*slo.value) : "none", slo.met() ? "met" : "missed"});
  }
  return Note(report.slo_met() ? "All objectives met." : "Objectives missed.", report.slo_met() ? "good" : "bad") +
         Table(rows);
}

Rows LatencyRows(const LoadReport& report) {
  Rows rows = {{"steps", "served", "failed", "p50 ms", "p90 ms", "p99 ms", "p99.9 ms", "max ms", "mean ms"}};
  for (const auto& [name, kind] : KindsOf(report)) {
    rows.push_back({name, absl::StrCat(kind.ok), absl::StrCat(kind.failed)});
    for (const double percent : kPercents) rows.back().push_back(Ms(kind.latency.Quantile(percent / 100)));
    rows.back().push_back(Ms(kind.latency.max()));
    rows.back().push_back(Ms(kind.latency.mean()));
  }
  return rows;
}

Rows ThroughputRows(const LoadReport& report) {
  Rows rows = {{"steps", "steps/s", "tokens/s", "rows/s", "MB/s", "cancelled", "interrupted"}};
  for (const auto& [name, kind] : KindsOf(report)) {
    rows.push_back({name, Whole(report.PerSecond(kind.ok)), Whole(report.PerSecond(kind.tokens)),
                    Whole(report.PerSecond(kind.rows)), absl::StrFormat("%.1f", report.PerSecond(kind.bytes) / 1e6),
                    absl::StrCat(kind.cancelled), absl::StrCat(kind.interrupted)});
  }
  return rows;
}

std::string Errors(const LoadReport& report) {
  Rows rows = {{"code", "steps", "segments"}};
  ErrorCounts codes = report.total.step_errors;
  codes.insert(report.total.segment_errors.begin(), report.total.segment_errors.end());
  const auto count = [](const ErrorCounts& counts, absl::StatusCode code) {
    const auto found = counts.find(code);
    return absl::StrCat(found == counts.end() ? 0 : found->second);
  };
  for (const auto& [code, unused] : codes) {
    rows.push_back({absl::StatusCodeToString(code), count(report.total.step_errors, code),
                    count(report.total.segment_errors, code)});
  }
  return rows.size() == 1 ? Note("None.", "good") : Table(rows) + Note("First: " + report.total.first_error, "soft");
}

std::string Stages(const LoadReport& report) {
  if (!report.stages.has_value()) return Note("The server does not tell its stage times.", "soft");
  const StageTimes& stages = *report.stages;
  const auto rounds = static_cast<double>(stages.rounds);
  Rows rows = {{"stage", "us, mean of a round", "share of the time"}};
  for (const auto& [name, time] : StagesOf(stages)) {
    rows.push_back({name, absl::StrFormat("%.1f", absl::ToDoubleMicroseconds(time) / rounds),
                    absl::StrFormat("%.1f %%", 100 * absl::FDivDuration(time, stages.elapsed))});
  }
  rows.push_back({"a step, as its client saw it",
                  absl::StrFormat("%.1f", absl::ToDoubleMicroseconds(report.total.All().latency.mean())), ""});
  return StageChart(stages) + Table(rows) +
         Note(absl::StrFormat("%d rounds of the engine in %.1f s.", stages.rounds,
                              absl::ToDoubleSeconds(stages.elapsed)),
              "soft");
}

Rows TimelineRows(const LoadReport& report) {
  Rows rows = {{"from s", "steps/s", "tokens/s", "MB/s", "p50 ms", "p99 ms", "max ms", "errors", "due"}};
  for (const TimelinePoint& point : report.timeline.points()) {
    rows.push_back({absl::StrFormat("%.1f", absl::ToDoubleSeconds(point.begin)), Whole(point.steps_per_s()),
                    Whole(point.tokens_per_s()), absl::StrFormat("%.1f", point.bytes_per_s() / 1e6), Ms(point.p50),
                    Ms(point.p99), Ms(point.max), absl::StrCat(point.errors), absl::StrCat(point.due)});
  }
  return rows;
}

std::string About(const LoadReport& report) {
  Rows rows = {{"setting", "value"}};
  for (const auto& [name, value] : report.settings) rows.push_back({name, value});
  return Table(rows);
}

}  // namespace

std::string ReportAsHtml(const LoadReport& report) {
  std::string html = absl::StrCat(kHead, "<h1>engram load</h1>\n");
  html += Note(absl::StrFormat("%s (%s), measured %.1f s after %.1f s of warm-up; ended by: %s", report.server,
                               report.model.name(), absl::ToDoubleSeconds(report.measured),
                               absl::ToDoubleSeconds(report.warm_up), report.ended),
               "soft");
  html += Verdict(report);
  html += Section("Latency", Table(LatencyRows(report)) + DistributionChart(report) + PercentileChart(report));
  html += Section("Throughput", Table(ThroughputRows(report)) + ThroughputChart(report));
  html += Section("Latency over time", LatencyOverTimeChart(report));
  html += Section("Where the server spent its time", Stages(report));
  html += Section("Errors", Errors(report));
  html += Section("Settings", About(report));
  html +=
      Section("Over time", "<details><summary>All points</summary>\n" + Table(TimelineRows(report)) + "</details>\n");
  return html + "</body>\n</html>\n";
}

}  // namespace engram
