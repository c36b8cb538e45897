// What bench_gpu is asked for.

#ifndef ENGRAM_TESTS_GPU_BENCH_OPTIONS_H_
#define ENGRAM_TESTS_GPU_BENCH_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace engram::bench {

inline constexpr uint64_t kGib = uint64_t{1} << 30;
inline constexpr uint64_t kRowsOfAToken = 48;  // two layers of 24 columns

struct BenchOptions {
  bool help = false;
  bool machine = false;  // only describe it
  bool quick = false;
  std::string json_path;  // empty: stdout
  std::string commit;     // said in the document, not looked up
  std::string folder;     // for the tables' files of the engine; empty: the system's for temporary files
  uint64_t seed = 1;      // of the random ids
  int ranks = 0;          // of the engine of several ranks; 0: the GPUs there are, at least 2

  uint64_t table_bytes = 0;              // on the device; 0: 80 % of what is free, at least 64 GiB where that fits
  uint64_t pinned_bytes = 8 * kGib;      // of the table in host memory; never more than half of what is available
  uint64_t engine_bytes = 1 * kGib;      // of the engine's tables, in files
  uint64_t copy_bytes = 4 * kGib;        // of a copy on the device; never more than a quarter of what is free
  uint64_t host_copy_bytes = kGib / 2;   // of a copy to or from the host
  uint64_t gather_rows_max = 4'000'000;  // rows of the largest launch, as long as the outputs fit
  std::vector<uint64_t> tokens = {1, 64, 1024, 8192};
  int repetitions = 15;
  absl::Duration engine_time =
      absl::Milliseconds(500);  // for each engine figure, after which it stops at 5 rounds or more

  uint64_t round_rows_max() const;  // of the largest round
};

// INVALID_ARGUMENT naming the option, its value and what it can be.
absl::StatusOr<BenchOptions> ParseBenchOptions(const std::vector<std::string>& arguments);

std::string BenchUsage();

}  // namespace engram::bench

#endif  // ENGRAM_TESTS_GPU_BENCH_OPTIONS_H_
