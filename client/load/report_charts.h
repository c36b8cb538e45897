// What the charts of a report show.

#ifndef ENGRAM_CLIENT_LOAD_REPORT_CHARTS_H_
#define ENGRAM_CLIENT_LOAD_REPORT_CHARTS_H_

#include <string>
#include <utility>
#include <vector>

#include "client/load/report.h"

namespace engram {

// Share of steps by latency, a line a kind of steps.
std::string DistributionChart(const LoadReport& report);
// Latency by percentile, to where there still is a step above.
std::string PercentileChart(const LoadReport& report);
// Tokens a second over the run.
std::string ThroughputChart(const LoadReport& report);
// p50, p99 and the highest of each interval.
std::string LatencyOverTimeChart(const LoadReport& report);

// hash, gather, deliver and, for what is left of the time, idle.
std::vector<std::pair<std::string, absl::Duration>> StagesOf(const StageTimes& stages);
// Their time a round, without idle.
std::string StageChart(const StageTimes& stages);

}  // namespace engram

#endif  // ENGRAM_CLIENT_LOAD_REPORT_CHARTS_H_
