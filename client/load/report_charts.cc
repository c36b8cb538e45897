#include "client/load/report_charts.h"

#include <algorithm>
#include <cmath>

#include "client/load/chart.h"

namespace engram {
namespace {

constexpr size_t kBarsAnOctave = 8;

double Ms(absl::Duration time) { return absl::ToDoubleMilliseconds(time); }

// A flat piece for each bar, down to zero where no step was. Bars are of unequal width on a logarithmic axis: what
// counts is the share over the width, so that the area is the share.
ChartSeries DistributionOf(const std::string& name, const LatencyHistogram& latency) {
  ChartSeries series{name, {}};
  double last = 0;
  for (const LatencyHistogram::Bar& bar : latency.Bars(kBarsAnOctave)) {
    const double from = std::max(Ms(bar.from), 1e-6);
    const double octaves = std::log2(Ms(bar.to) / from);
    const double share = 100 * static_cast<double>(bar.count) / static_cast<double>(latency.count()) / octaves;
    if (from > last && last > 0) series.points.emplace_back(last, 0);
    if (from != last) series.points.emplace_back(from, 0);
    series.points.emplace_back(from, share);
    series.points.emplace_back(Ms(bar.to), share);
    last = Ms(bar.to);
  }
  if (last > 0) series.points.emplace_back(last, 0);
  return series;
}

ChartSeries PercentilesOf(const std::string& name, const LatencyHistogram& latency) {
  ChartSeries series{name, {}};
  uint64_t below = 0;
  for (const LatencyHistogram::Bar& bar : latency.Bars(kBarsAnOctave)) {
    below += bar.count;
    const uint64_t above = latency.count() - below;
    // Above the last one there is none: it stands where half a step would be.
    const double share = std::max(static_cast<double>(above), 0.5) / static_cast<double>(latency.count());
    series.points.emplace_back(-std::log10(share), Ms(std::min(bar.to, latency.max())));
  }
  return series;
}

template <typename Value>
ChartSeries OverTime(const LoadReport& report, const std::string& name, Value value) {
  ChartSeries series{name, {}};
  for (const TimelinePoint& point : report.timeline.points()) {
    series.points.emplace_back(absl::ToDoubleSeconds(point.begin), value(point));
  }
  return series;
}

template <typename Make>
std::vector<ChartSeries> OfEachKind(const LoadReport& report, Make make) {
  std::vector<ChartSeries> series;
  for (const auto& [name, kind] : KindsOf(report)) series.push_back(make(name, kind.latency));
  return series;
}

}  // namespace

std::string DistributionChart(const LoadReport& report) {
  return LineChart({"Share of steps by latency", "latency, ms", "% of steps an octave", true, false, false},
                   OfEachKind(report, DistributionOf));
}

std::string PercentileChart(const LoadReport& report) {
  return LineChart({"Latency by percentile", "steps that were as fast or faster", "latency, ms", false, true, true},
                   OfEachKind(report, PercentilesOf));
}

std::string ThroughputChart(const LoadReport& report) {
  return LineChart({"Tokens a second over the run", "s", "tokens/s", false, false, false},
                   {OverTime(report, "tokens/s", [](const TimelinePoint& point) { return point.tokens_per_s(); })});
}

std::string LatencyOverTimeChart(const LoadReport& report) {
  return LineChart({"Latency over the run", "s", "latency, ms", false, true, false},
                   {OverTime(report, "p50", [](const TimelinePoint& point) { return Ms(point.p50); }),
                    OverTime(report, "p99", [](const TimelinePoint& point) { return Ms(point.p99); }),
                    OverTime(report, "max", [](const TimelinePoint& point) { return Ms(point.max); })});
}

std::vector<std::pair<std::string, absl::Duration>> StagesOf(const StageTimes& stages) {
  return {{"hash", stages.hash},
          {"gather", stages.gather},
          {"deliver", stages.deliver},
          {"idle", std::max(absl::ZeroDuration(), stages.elapsed - stages.busy())}};
}

std::string StageChart(const StageTimes& stages) {
  std::vector<ChartPart> parts;
  for (const auto& [name, time] : StagesOf(stages)) {
    if (name != "idle") parts.push_back({name, absl::ToDoubleMicroseconds(time) / static_cast<double>(stages.rounds)});
  }
  return StackedBar("Time of the engine in a round", parts, "us a round");
}

}  // namespace engram
