#include "client/load/slo.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "model/files/errors.h"

namespace engram {
namespace {

struct Figure {
  const char* name;
  double quantile;  // of the latencies; negative: another figure
  bool at_least;
  double bound_max;
};

constexpr double kMeanLatency = -1;
constexpr double kErrorRate = -2;
constexpr double kTokensPerS = -3;
constexpr double kStepsPerS = -4;
constexpr std::array<Figure, 9> kFigures = {{{"p50_ms", 0.5, false, 1e9},
                                             {"p90_ms", 0.9, false, 1e9},
                                             {"p99_ms", 0.99, false, 1e9},
                                             {"p999_ms", 0.999, false, 1e9},
                                             {"max_ms", 1, false, 1e9},
                                             {"mean_ms", kMeanLatency, false, 1e9},
                                             {"error_rate", kErrorRate, false, 1},
                                             {"tokens_per_s", kTokensPerS, true, 1e15},
                                             {"steps_per_s", kStepsPerS, true, 1e15}}};

const Figure* FindFigure(absl::string_view name) {
  const auto* found = std::find_if(kFigures.begin(), kFigures.end(), [name](const auto& f) { return name == f.name; });
  return found == kFigures.end() ? nullptr : found;
}

absl::Status Wrong(absl::string_view entry, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("--slo: '", entry, "': ", what));
}

std::string Names() {
  std::string names;
  for (const Figure& figure : kFigures) absl::StrAppend(&names, names.empty() ? "" : ", ", figure.name);
  return names;
}

// Takes "decode." off the figure.
void SplitKind(SloBound& bound) {
  for (size_t kind = 0; kind < kStepKinds; ++kind) {
    const std::string prefix = absl::StrCat(kStepKindNames[kind], ".");
    if (bound.figure.compare(0, prefix.size(), prefix) != 0) continue;
    bound.kind = static_cast<StepKind>(kind);
    bound.figure.erase(0, prefix.size());
    return;
  }
}

absl::StatusOr<SloBound> ParseEntry(absl::string_view entry) {
  const std::vector<std::string> parts = absl::StrSplit(entry, absl::MaxSplits('=', 1));
  if (parts.size() != 2) return Wrong(entry, "must be NAME=NUMBER");
  SloBound bound{parts[0], std::nullopt, parts[0], 0};
  SplitKind(bound);
  const Figure* figure = FindFigure(bound.figure);
  if (figure == nullptr) return Wrong(entry, absl::StrCat("'", bound.figure, "' is none of ", Names()));
  if (figure->quantile == kErrorRate && bound.kind.has_value()) {
    return Wrong(entry, "error_rate is of all steps: no kind may stand before it");
  }
  if (!absl::SimpleAtod(parts[1], &bound.bound) || !(bound.bound >= 0 && bound.bound <= figure->bound_max)) {
    return Wrong(entry,
                 absl::StrCat(bound.name, " is '", parts[1], "'; it must be a number from 0 to ", figure->bound_max));
  }
  return bound;
}

std::optional<double> ValueOf(const Figure& figure, const KindTally& steps, const LoadReport& report) {
  if (figure.quantile == kErrorRate) return report.total.ErrorRate();
  if (figure.quantile == kTokensPerS) return report.PerSecond(steps.tokens);
  if (figure.quantile == kStepsPerS) return report.PerSecond(steps.ok);
  if (steps.latency.count() == 0) return std::nullopt;
  return absl::ToDoubleMilliseconds(figure.quantile == kMeanLatency ? steps.latency.mean()
                                                                    : steps.latency.Quantile(figure.quantile));
}

}  // namespace

absl::StatusOr<std::vector<SloBound>> ParseSlo(const std::string& text) {
  std::vector<SloBound> bounds;
  for (const absl::string_view entry : absl::StrSplit(text, ',')) {
    ENGRAM_ASSIGN_OR_RETURN(SloBound bound, ParseEntry(entry));
    for (const SloBound& other : bounds) {
      if (other.name == bound.name) return Wrong(entry, absl::StrCat(bound.name, " stands twice; at most once"));
    }
    bounds.push_back(std::move(bound));
  }
  return bounds;
}

std::vector<SloResult> JudgeSlo(const std::vector<SloBound>& bounds, const LoadReport& report) {
  std::vector<SloResult> results;
  const KindTally all = report.total.All();
  for (const SloBound& bound : bounds) {
    const Figure& figure = *FindFigure(bound.figure);
    const KindTally& steps = bound.kind.has_value() ? report.total.of(*bound.kind) : all;
    results.push_back({bound.name, bound.bound, ValueOf(figure, steps, report), figure.at_least});
  }
  return results;
}

}  // namespace engram
