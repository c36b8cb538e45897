// Measured values of one thing, and what is said of them.

#ifndef ENGRAM_TESTS_GPU_BENCH_SAMPLES_H_
#define ENGRAM_TESTS_GPU_BENCH_SAMPLES_H_

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace engram::bench {

// Median, smallest and largest of `count` values.
struct Samples {
  double median = 0;
  double min = 0;
  double max = 0;
  size_t count = 0;
};

// Of at least one value. An even number of values has the mean of the two in the middle.
inline Samples SamplesOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  const double median = values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
  return {median, values.front(), values.back(), values.size()};
}

// `amount` in each of so many seconds, a second.
inline Samples RatesOf(double amount, std::vector<double> seconds) {
  for (double& value : seconds) value = amount / value;
  return SamplesOf(std::move(seconds));
}

}  // namespace engram::bench

#endif  // ENGRAM_TESTS_GPU_BENCH_SAMPLES_H_
