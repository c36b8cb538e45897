// Many streams under load for a while, and what came of it.

#ifndef ENGRAM_TESTS_BENCH_LOAD_H_
#define ENGRAM_TESTS_BENCH_LOAD_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "bench_input.h"
#include "load_stream.h"

namespace engram {

struct LoadFigures {
  double seconds = 0;
  double row_bytes = 0;           // received in that time
  double tokens_per_second = 0;   // from row_bytes; all layers of a token count once
  std::vector<double> latencies;  // of all steps, in seconds, ascending
  uint64_t rows_checked = 0;

  // The smallest latency that so many of 100 steps do not exceed; 0 without steps.
  double Percentile(double percent) const;
};

// Connects `streams` streams, each at another place of the texts, runs them for `seconds`, or longer where a stream has
// no answer by then, and cuts them off. The first error of any of them.
absl::StatusOr<LoadFigures> RunLoad(const BenchInput& input, const LoadPlan& plan, uint32_t streams, double seconds);

}  // namespace engram

#endif  // ENGRAM_TESTS_BENCH_LOAD_H_
