// Seconds since it was made.

#ifndef ENGRAM_TESTS_BENCH_STOPWATCH_H_
#define ENGRAM_TESTS_BENCH_STOPWATCH_H_

#include <chrono>

namespace engram {

class Stopwatch {
 public:
  using Clock = std::chrono::steady_clock;

  double Seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

 private:
  const Clock::time_point begin_ = Clock::now();
};

}  // namespace engram

#endif  // ENGRAM_TESTS_BENCH_STOPWATCH_H_
