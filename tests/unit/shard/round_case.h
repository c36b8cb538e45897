// One round asked of an engine, with outputs poisoned and fenced, and its check against the dumb reader.

#ifndef ENGRAM_TESTS_UNIT_SHARD_ROUND_CASE_H_
#define ENGRAM_TESTS_UNIT_SHARD_ROUND_CASE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <random>
#include <vector>

#include "absl/types/span.h"
#include "model/files/checkpoint.h"
#include "shard/engine.h"
#include "tests/golden/golden_case.h"

namespace engram {

class RoundCase {
 public:
  explicit RoundCase(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {}

  // The output begins at an odd address where `odd`.
  void Add(size_t layer, RowForm form, std::vector<uint64_t> ids, bool odd);
  // Up to `rows` random rows in up to 5 blocks of random layers and the forms that `mode` serves.
  void AddRandom(CombineMode mode, size_t rows, std::mt19937_64& random);

  absl::Status Run(Engine& engine);
  // For who asks in another way: the blocks with their outputs poisoned, and the memory around each.
  std::vector<RowBlock> MakeBlocks();
  std::vector<absl::Span<std::byte>> memories();
  // Every row byte for byte, and nothing written beside them.
  void ExpectRows(CombineMode mode, int ranks) const;

  const std::byte* row(size_t block, size_t index) const;

 private:
  struct Block {
    size_t layer;
    RowForm form;
    std::vector<uint64_t> ids;
    std::vector<std::byte> memory;
    size_t begin;
    size_t width;
  };

  const Checkpoint& checkpoint_;
  std::deque<Block> blocks_;
};

// Asks for the rows of every step of a golden case, all layers and forms in one round, and compares: bf16 with what the
// reference returned, everything with the dumb reader.
void ExpectGoldenRounds(Engine& engine, const Checkpoint& checkpoint, const GoldenCase& golden, CombineMode mode,
                        int ranks);

// `rounds` random rounds, seeded.
void ExpectRandomRounds(Engine& engine, const Checkpoint& checkpoint, CombineMode mode, int ranks, int rounds,
                        uint64_t seed);

}  // namespace engram

#endif  // ENGRAM_TESTS_UNIT_SHARD_ROUND_CASE_H_
