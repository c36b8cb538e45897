// Where a run's randomness begins: printed, so that a failure can be had again.

#ifndef ENGRAM_TESTS_SIM_SIM_SEED_H_
#define ENGRAM_TESTS_SIM_SIM_SEED_H_

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"

namespace engram {

// ENGRAM_SIM_SEED alone where it is set; else an odd and an even fixed seed (FaultyEngine), and one that no run has had
// before.
inline std::vector<uint64_t> SimSeeds() {
  if (const char* given = std::getenv("ENGRAM_SIM_SEED"); given != nullptr) {
    return {std::strtoull(given, nullptr, 10)};
  }
  return {20240917, 20240918, std::random_device()()};
}

// Printed at once (a run may hang or crash) and, by SCOPED_TRACE, with each failure.
inline std::string SayHowToRepeat(uint64_t seed) {
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  return absl::StrCat("to repeat: ENGRAM_SIM_SEED=", seed);
}

}  // namespace engram

#endif  // ENGRAM_TESTS_SIM_SIM_SEED_H_
