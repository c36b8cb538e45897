// Bounds that a run must keep, as --slo takes them.

#ifndef ENGRAM_CLIENT_LOAD_SLO_H_
#define ENGRAM_CLIENT_LOAD_SLO_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/load/report.h"

namespace engram {

struct SloBound {
  std::string name;              // "p99_ms", "decode.p99_ms"
  std::optional<StepKind> kind;  // none: of all steps
  std::string figure;            // the name without the kind
  double bound = 0;
};

// "p99_ms=5,error_rate=0.001,decode.p50_ms=1". Figures: p50_ms, p90_ms, p99_ms, p999_ms, max_ms and mean_ms (at most),
// error_rate (at most, 0 to 1, of all steps only), tokens_per_s and steps_per_s (at least). A kind and a dot before one
// asks for the steps of that kind. INVALID_ARGUMENT naming the entry, its value and what it may be; likewise for one
// that stands twice.
absl::StatusOr<std::vector<SloBound>> ParseSlo(const std::string& text);

// Reads the figures off. A latency without a step that was served has no value: not met.
std::vector<SloResult> JudgeSlo(const std::vector<SloBound>& bounds, const LoadReport& report);

}  // namespace engram

#endif  // ENGRAM_CLIENT_LOAD_SLO_H_
