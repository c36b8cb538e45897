// Compares rows that came out of a benchmark with what they must be by definition.

#ifndef ENGRAM_TESTS_BENCH_ROW_CHECK_H_
#define ENGRAM_TESTS_BENCH_ROW_CHECK_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "bench_input.h"
#include "shard/engine.h"

namespace engram {

// Row ids by the plain formula and row content by docs/synthetic.md: nothing of the code that is measured. Not
// thread-safe.
class RowCheck {
 public:
  // `input` must outlive it.
  explicit RowCheck(const BenchInput& input);

  // Ranks that sum bf16 over zeros lose the sign of -0 (docs/ranks.md).
  enum class MinusZero { kKept, kLost };

  // `bytes` must be row `row`, packed or as bf16. DATA_LOSS naming it and the first byte that differs.
  absl::Status Row(RowForm form, size_t layer_index, uint64_t row, const std::byte* bytes,
                   MinusZero minus_zero = MinusZero::kKept);

  // The packed rows [K] of the token at `position` of a sequence that is the texts from `begin` on, taken again from
  // the front where they end.
  absl::Status Token(size_t layer_index, uint64_t begin, uint64_t position, const std::byte* bytes);

  uint64_t rows() const { return rows_; }  // compared and found right

 private:
  const BenchInput& input_;
  std::vector<uint64_t> layer_keys_;
  std::vector<uint8_t> packed_;
  std::vector<uint8_t> bf16_;
  uint64_t rows_ = 0;
};

}  // namespace engram

#endif  // ENGRAM_TESTS_BENCH_ROW_CHECK_H_
