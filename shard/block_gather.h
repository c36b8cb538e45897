// The rows that one rank owns, of a round's blocks, from its tables to where they are wanted.

#ifndef ENGRAM_SHARD_BLOCK_GATHER_H_
#define ENGRAM_SHARD_BLOCK_GATHER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "shard/shard.h"

namespace engram {

// A block of a round without its ids: rows of one layer in one form, from `out` on.
struct RowTarget {
  size_t layer_index = 0;
  RowForm form = RowForm::kPacked;
  uint64_t rows = 0;
  std::byte* out = nullptr;
};

// A round's blocks, in order.
void TargetsOf(absl::Span<const RowBlock> blocks, std::vector<RowTarget>& targets);

// Calls visit(target, slot, i) for each of `requests` (numbers over all rows of all targets, ascending): the i-th is
// row `slot` of `target`.
template <typename Visit>
void ForEachRequest(absl::Span<const RowTarget> targets, absl::Span<const uint32_t> requests, const Visit& visit) {
  size_t target = 0;
  uint64_t begin = 0;
  for (size_t i = 0; i < requests.size(); ++i) {
    while (requests[i] - begin >= targets[target].rows) begin += targets[target++].rows;
    visit(target, static_cast<uint32_t>(requests[i] - begin), i);
  }
}

// Keeps its memory between rounds. Not thread-safe.
class BlockGather {
 public:
  // entries[i] (EntryOf in row_plan.h, all owned by `shard`, of its target's layer) is request number requests[i].
  // DATA_LOSS as Table::Gather, after all have been tried.
  absl::Status Gather(Shard& shard, absl::Span<const RowTarget> targets, absl::Span<const uint64_t> entries,
                      absl::Span<const uint32_t> requests);

 private:
  std::vector<uint64_t> rows_;  // of one target
  std::vector<uint32_t> slots_;
};

}  // namespace engram

#endif  // ENGRAM_SHARD_BLOCK_GATHER_H_
