// What every benchmark works on: a synthetic checkpoint and real texts.

#ifndef ENGRAM_TESTS_BENCH_BENCH_INPUT_H_
#define ENGRAM_TESTS_BENCH_BENCH_INPUT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "model/files/checkpoint.h"

namespace engram {

// Immutable once opened.
struct BenchInput {
  Checkpoint checkpoint;
  uint64_t seed = 0;                // of the rows (docs/synthetic.md)
  std::vector<uint32_t> tokens;     // all texts, one behind the other; masks are left out
  std::vector<int32_t> compressed;  // [tokens]: their compressed ids

  const Geometry& geometry() const { return checkpoint.geometry; }

  // Row ids [tokens, K] of one layer, hashed as one sequence.
  std::vector<uint64_t> RowIds(size_t layer_index) const;
};

struct BenchFiles {
  std::string checkpoint;          // a folder that `engram synth` wrote
  std::vector<std::string> texts;  // files of token sequences
  size_t tokens_max = SIZE_MAX;    // those behind are left out
};

// Errors of OpenCheckpoint and ReadSequences; INVALID_ARGUMENT for a checkpoint that is not synthetic, a token at or
// above vocab_size, or no token at all.
absl::StatusOr<BenchInput> OpenBenchInput(const BenchFiles& files);

}  // namespace engram

#endif  // ENGRAM_TESTS_BENCH_BENCH_INPUT_H_
