#include "client/load/report_json.h"

#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "model/digest.h"

namespace engram {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;  // of the document
constexpr size_t kBarsAnOctave = 8;

double Ms(absl::Duration time) { return absl::ToDoubleMilliseconds(time); }

Json LatencyJson(const LatencyHistogram& latency) {
  Json json{{"count", latency.count()}, {"mean_ms", Ms(latency.mean())}};
  json["p50_ms"] = Ms(latency.Quantile(0.5));
  json["p90_ms"] = Ms(latency.Quantile(0.9));
  json["p99_ms"] = Ms(latency.Quantile(0.99));
  json["p999_ms"] = Ms(latency.Quantile(0.999));
  json["min_ms"] = Ms(latency.min());
  json["max_ms"] = Ms(latency.max());
  return json;
}

Json DistributionJson(const LatencyHistogram& latency) {
  Json bars = Json::array();
  for (const LatencyHistogram::Bar& bar : latency.Bars(kBarsAnOctave)) {
    bars.push_back({{"from_ms", Ms(bar.from)}, {"to_ms", Ms(bar.to)}, {"count", bar.count}});
  }
  return bars;
}

Json KindJson(const KindTally& kind, const LoadReport& report) {
  return {{"ok", kind.ok},
          {"failed", kind.failed},
          {"cancelled", kind.cancelled},
          {"interrupted", kind.interrupted},
          {"tokens", kind.tokens},
          {"rows", kind.rows},
          {"bytes", kind.bytes},
          {"through_shared_memory", kind.shared},
          {"steps_per_s", report.PerSecond(kind.ok)},
          {"tokens_per_s", report.PerSecond(kind.tokens)},
          {"rows_per_s", report.PerSecond(kind.rows)},
          {"bytes_per_s", report.PerSecond(kind.bytes)},
          {"latency", LatencyJson(kind.latency)},
          {"distribution", DistributionJson(kind.latency)}};
}

Json ErrorsJson(const ErrorCounts& errors) {
  Json json = Json::object();
  for (const auto& [code, count] : errors) json[absl::StatusCodeToString(code)] = count;
  return json;
}

Json StagesJson(const std::optional<StageTimes>& stages) {
  if (!stages.has_value()) return nullptr;
  return {{"rounds", stages->rounds},
          {"elapsed_ms", Ms(stages->elapsed)},
          {"hash_ms", Ms(stages->hash)},
          {"gather_ms", Ms(stages->gather)},
          {"deliver_ms", Ms(stages->deliver)}};
}

Json CheckedJson(const std::optional<CheckedAnswers>& checked) {
  if (!checked.has_value()) return nullptr;
  return {{"steps", checked->steps}, {"rows", checked->rows}, {"failure", checked->failure}};
}

Json SloJson(const std::vector<SloResult>& results) {
  Json json = Json::array();
  for (const SloResult& slo : results) {
    json.push_back({{"name", slo.name},
                    {"bound", slo.bound},
                    {"at_least", slo.at_least},
                    {"value", slo.value.has_value() ? Json(*slo.value) : Json(nullptr)},
                    {"met", slo.met()}});
  }
  return json;
}

Json TimelineJson(const Timeline& timeline) {
  Json json = Json::array();
  for (const TimelinePoint& point : timeline.points()) {
    json.push_back({{"begin_s", absl::ToDoubleSeconds(point.begin)},
                    {"length_s", absl::ToDoubleSeconds(point.length)},
                    {"steps", point.steps},
                    {"tokens", point.tokens},
                    {"bytes", point.bytes},
                    {"errors", point.errors},
                    {"due", point.due},
                    {"p50_ms", Ms(point.p50)},
                    {"p99_ms", Ms(point.p99)},
                    {"max_ms", Ms(point.max)}});
  }
  return json;
}

Json ServerJson(const LoadReport& report) {
  return {{"address", report.server},
          {"name", report.model.name()},
          {"model_digest", HexOf(report.model.model_digest())},
          {"server_version", report.model.server_version()},
          {"ranks", report.model.ranks()},
          {"combine", report.model.combine()},
          {"placement", report.model.placement()}};
}

}  // namespace

std::string ReportAsJson(const LoadReport& report) {
  Json json{{"format", kFormat}, {"server", ServerJson(report)}};
  json["settings"] = Json::object();
  for (const auto& [name, value] : report.settings) json["settings"][name] = value;
  json["ended"] = report.ended;
  json["warm_up_s"] = absl::ToDoubleSeconds(report.warm_up);
  json["measured_s"] = absl::ToDoubleSeconds(report.measured);
  json["open_loop"] = report.open_loop;
  json["steps"] = Json::object();
  for (const auto& [name, kind] : KindsOf(report)) json["steps"][name] = KindJson(kind, report);
  json["start_delay"] = LatencyJson(report.total.start_delay);
  json["starts_dropped"] = report.total.starts_dropped;
  json["starts_left"] = report.starts_left;
  json["oldest_left_ms"] = Ms(report.oldest_left);
  json["reconnections"] = report.reconnections;
  json["error_rate"] = report.total.ErrorRate();
  json["errors"] = {{"steps", ErrorsJson(report.total.step_errors)},
                    {"segments", ErrorsJson(report.total.segment_errors)},
                    {"first", report.total.first_error}};
  json["client_cores"] = report.client_cores;
  json["server_stages"] = StagesJson(report.stages);
  json["verified"] = CheckedJson(report.checked);
  json["slo"] = SloJson(report.slo);
  json["timeline"] = TimelineJson(report.timeline);
  // Bytes that are no UTF-8, in a server's message for instance, must not end the program.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace engram
