// Writes a table's content where a GPU reads it.

#ifndef ENGRAM_TESTS_GPU_BENCH_FILL_H_
#define ENGRAM_TESTS_GPU_BENCH_FILL_H_

#include <cstdint>

#include "absl/status/status.h"
#include "shard/gpu/api.h"
#include "tests/gpu/bench/content.h"

namespace engram::bench {

struct FillArgs {
  uint64_t* codes = nullptr;   // [rows, 32] words; device addresses
  uint64_t* scales = nullptr;  // [rows]
  uint64_t begin = 0;          // the first row's number
  uint64_t rows = 0;
  uint64_t layer_key = 0;
};

// What one thread of the kernel does: a word, then others a whole grid further.
class FillRows {
 public:
  explicit FillRows(const FillArgs& args) : args_(args) {}

  ENGRAM_HOST_DEVICE uint64_t units() const { return args_.rows * (kCodeWords + 1); }

  ENGRAM_HOST_DEVICE void operator()(uint64_t thread, uint64_t threads) const {
    for (uint64_t unit = thread; unit < units(); unit += threads) {
      const uint64_t row = unit / (kCodeWords + 1);
      const auto word = static_cast<uint32_t>(unit % (kCodeWords + 1));
      const uint64_t key = RowKey(args_.layer_key, args_.begin + row);
      if (word == kCodeWords) {
        args_.scales[row] = ScalesOf(key);
      } else {
        args_.codes[row * kCodeWords + word] = CodesOf(key, word);
      }
    }
  }

 private:
  FillArgs args_;
};

// Errors of api.h.
absl::Status LaunchFill(const FillArgs& args, cudaStream_t stream);

}  // namespace engram::bench

#endif  // ENGRAM_TESTS_GPU_BENCH_FILL_H_
