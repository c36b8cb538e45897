// Rounds of random rows of both layers, and whether they were answered right.

#ifndef ENGRAM_TESTS_GPU_BENCH_ROUND_SOURCE_H_
#define ENGRAM_TESTS_GPU_BENCH_ROUND_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "model/geometry.h"
#include "shard/engine.h"

namespace engram::bench {

// Goes round among as many rounds as it takes for none to be answered from a cache.
class RoundSource {
 public:
  // `memory`: for the rows of `slots` rounds, which take turns; it must outlive this.
  RoundSource(const Geometry& geometry, RowForm form, uint64_t tokens, int slots, uint64_t seed,
              absl::Span<std::byte> memory);

  // Bytes that `memory` needs.
  static uint64_t MemoryBytes(RowForm form, uint64_t tokens, int slots);

  // The next round's blocks, one a layer. The rows of the round `slots` before may be overwritten.
  absl::Span<const RowBlock> Next();

  // Fills the memory with what no row is.
  void Poison();
  // Holds rows of the round that Next gave last against the definition. Returns how many were looked at; DATA_LOSS
  // naming the first that differs. `negative_zeros`: as RowOf.
  absl::StatusOr<uint64_t> Check(bool negative_zeros) const;

  uint64_t rows_of_a_round() const { return rows_; }

 private:
  const RowForm form_;
  const uint64_t rows_;
  const uint64_t slots_;
  const absl::Span<std::byte> memory_;
  std::vector<std::vector<uint64_t>> ids_;  // [rounds * layers]
  uint64_t next_ = 0;                       // rounds given
  std::vector<RowBlock> blocks_;            // of the round given last
};

}  // namespace engram::bench

#endif  // ENGRAM_TESTS_GPU_BENCH_ROUND_SOURCE_H_
