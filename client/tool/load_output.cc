#include "client/tool/load_output.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/load/chart.h"
#include "client/tool/report.h"
#include "model/digest.h"

namespace engram {
namespace {

double Ms(absl::Duration time) { return absl::ToDoubleMilliseconds(time); }

std::string Heading(const LoadReport& report) {
  std::string text =
      absl::StrFormat("%s: %s, %d ranks, %s, %s, model %s\n", report.server, report.model.name(), report.model.ranks(),
                      report.model.combine(), report.model.placement(), HexOf(report.model.model_digest()));
  for (const auto& [name, value] : report.settings) {
    absl::StrAppend(&text, &name == &report.settings.front().first ? "" : ", ", name, " ", value);
  }
  absl::StrAppendFormat(&text, "\nmeasured %.1f s after %.1f s of warm-up; ended by: %s\n\n",
                        absl::ToDoubleSeconds(report.measured), absl::ToDoubleSeconds(report.warm_up), report.ended);
  return text;
}

std::string StepsTable(const LoadReport& report) {
  std::string text =
      absl::StrFormat("%-12s %10s %8s %9s %9s %9s %9s %9s %9s %10s %11s %9s\n", "steps", "served", "failed", "p50 ms",
                      "p90 ms", "p99 ms", "p99.9 ms", "max ms", "mean ms", "steps/s", "tokens/s", "MB/s");
  for (const auto& [name, kind] : KindsOf(report)) {
    absl::StrAppendFormat(&text, "%-12s %10d %8d", name, kind.ok, kind.failed);
    for (const double percent : kPercents)
      absl::StrAppendFormat(&text, " %9.3f", Ms(kind.latency.Quantile(percent / 100)));
    absl::StrAppendFormat(&text, " %9.3f %9.3f %10.0f %11.0f %9.1f\n", Ms(kind.latency.max()), Ms(kind.latency.mean()),
                          report.PerSecond(kind.ok), report.PerSecond(kind.tokens), report.PerSecond(kind.bytes) / 1e6);
  }
  return text;
}

std::string ErrorList(const ErrorCounts& errors) {
  std::string text;
  for (const auto& [code, count] : errors) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", count, " ", absl::StatusCodeToString(code));
  }
  return text.empty() ? "none" : text;
}

std::string Errors(const LoadReport& report) {
  std::string text =
      absl::StrFormat("errors of steps: %s; of segments: %s; error rate %.6f\n", ErrorList(report.total.step_errors),
                      ErrorList(report.total.segment_errors), report.total.ErrorRate());
  if (!report.total.first_error.empty()) absl::StrAppend(&text, "first error: ", report.total.first_error, "\n");
  const KindTally all = report.total.All();
  if (all.cancelled + all.interrupted + report.reconnections > 0) {
    absl::StrAppendFormat(&text, "on purpose: %d steps cancelled, %d interrupted, %d reconnections\n", all.cancelled,
                          all.interrupted, report.reconnections);
  }
  return text;
}

std::string Transport(const LoadReport& report) {
  if (!report.shared_memory) return "";
  const KindTally all = report.total.All();
  return absl::StrFormat("shared memory: the rows of %d steps came through it, of %d that were answered\n", all.shared,
                         all.ok + all.failed);
}

std::string OpenLoop(const LoadReport& report) {
  if (!report.open_loop) return "";
  std::string text = absl::StrFormat("late starts: p50 %.3f ms, p99 %.3f ms, max %.3f ms (part of the latency)\n",
                                     Ms(report.total.start_delay.Quantile(0.5)),
                                     Ms(report.total.start_delay.Quantile(0.99)), Ms(report.total.start_delay.max()));
  if (report.total.starts_dropped > 0) {
    absl::StrAppendFormat(&text,
                          "%d intended starts were dropped, as the queue of those due was full (--due-max): "
                          "latencies are lower than they would have been\n",
                          report.total.starts_dropped);
  }
  if (report.starts_left > 0) {
    absl::StrAppendFormat(&text, "%d intended starts were due and not made at the end, the oldest for %.3f ms\n",
                          report.starts_left, Ms(report.oldest_left));
  }
  return text;
}

std::string Stages(const LoadReport& report) {
  if (!report.stages.has_value()) return "server stages: not told\n";
  const auto rounds = static_cast<double>(report.stages->rounds);
  const auto us = [rounds](absl::Duration time) { return absl::ToDoubleMicroseconds(time) / rounds; };
  return absl::StrFormat(
      "server stages: %d rounds, a round hash %.1f us, gather %.1f us, deliver %.1f us; busy %.1f %%\n",
      report.stages->rounds, us(report.stages->hash), us(report.stages->gather), us(report.stages->deliver),
      100 * absl::FDivDuration(report.stages->busy(), report.stages->elapsed));
}

std::string Verdicts(const LoadReport& report) {
  std::string text;
  if (report.checked.has_value()) {
    absl::StrAppendFormat(&text, "verified: %d steps, %d rows%s\n", report.checked->steps, report.checked->rows,
                          report.wrong_bytes() ? "" : ", every byte right");
  }
  if (report.wrong_bytes()) absl::StrAppend(&text, "WRONG: ", report.checked->failure, "\n");
  for (const SloResult& slo : report.slo) {
    absl::StrAppend(&text, "slo ", slo.name, " ", slo.at_least ? ">= " : "<= ", ShortNumber(slo.bound), ": ",
                    slo.value.has_value() ? ShortNumber(*slo.value) : "no step", slo.met() ? ", met\n" : ", MISSED\n");
  }
  return text;
}

}  // namespace

std::string ReportAsText(const LoadReport& report) {
  return absl::StrCat(Heading(report), StepsTable(report), "\n", Errors(report), Transport(report), OpenLoop(report),
                      Stages(report), absl::StrFormat("client: %.2f cores\n", report.client_cores), Verdicts(report));
}

std::string ProgressLine(const RunProgress& progress) {
  const KindTally all = progress.second.All();
  const double seconds = std::max(1e-9, absl::ToDoubleSeconds(progress.length));
  return absl::StrFormat(
      "%5.0f s%s: %.0f steps/s, %.0f tokens/s, p50 %.3f ms, p99 %.3f ms, max %.3f ms, %d failed, %d in flight%s",
      absl::ToDoubleSeconds(progress.elapsed), progress.warm_up ? " (warm-up)" : "",
      static_cast<double>(all.ok) / seconds, static_cast<double>(all.tokens) / seconds, Ms(all.latency.Quantile(0.5)),
      Ms(all.latency.Quantile(0.99)), Ms(all.latency.max()), all.failed, progress.in_flight,
      progress.due > 0 ? absl::StrCat(", ", progress.due, " due") : "");
}

int ExitCodeOf(const LoadReport& report) {
  if (report.wrong_bytes() || report.total.All().ok == 0) return kExitFailure;
  return report.slo_met() ? 0 : kExitSloMissed;
}

}  // namespace engram
