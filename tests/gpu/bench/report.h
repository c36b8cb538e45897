// What a benchmark found, as rows that docs/gpu.md defines.

#ifndef ENGRAM_TESTS_GPU_BENCH_REPORT_H_
#define ENGRAM_TESTS_GPU_BENCH_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/gpu/bench/samples.h"

namespace engram::bench {

using Json = nlohmann::ordered_json;

class BenchReport {
 public:
  // `parameters`: what was measured, an object, in the row before the figures. `checked`: rows of the answer that were
  // held against the definition, all of them right.
  void Add(const std::string& name, const Json& parameters, const std::string& unit, const Samples& samples,
           uint64_t checked = 0);
  // On the row added last: a figure that follows from it.
  void AddRatio(const std::string& name, double value);

  // Rows of another report's json().
  void Append(const Json& rows);

  const Json& json() const { return rows_; }

  // The rows, one a line in columns.
  std::string Table() const;

 private:
  Json rows_ = Json::array();
};

}  // namespace engram::bench

#endif  // ENGRAM_TESTS_GPU_BENCH_REPORT_H_
