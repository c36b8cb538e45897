// The rows of a round without those that it has again, and the copies that make it whole afterwards.

#ifndef ENGRAM_SHARD_UNIQUE_ROWS_H_
#define ENGRAM_SHARD_UNIQUE_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "model/unique_ids.h"
#include "shard/engine.h"
#include "shard/row_writer.h"

namespace engram {

// Life cycle of a round: Find, whoever gathers fills the places of firsts() alone, CopyRepeats. The blocks' `out` must
// stay until then. Memory is kept for the next round. Not thread-safe.
class UniqueRows {
 public:
  explicit UniqueRows(uint32_t head_dim) : writer_(head_dim) {}

  // Rows are the same where layer, row and form are, in whatever blocks they stand. Valid blocks only.
  void Find(absl::Span<const RowBlock> blocks);

  // The different rows in the order of their first request: EntryOf (row_plan.h), and that request's number over all
  // rows of all blocks, ascending.
  absl::Span<const uint64_t> entries() const { return entries_; }
  absl::Span<const uint32_t> firsts() const { return firsts_; }

  // To every other place, from the first one.
  void CopyRepeats() const;

 private:
  struct Copy {
    const std::byte* from;
    std::byte* to;
    size_t bytes;
  };

  void NumberRows(absl::Span<const RowBlock> blocks);

  const RowWriter writer_;  // for the widths
  UniqueIds unique_;
  std::vector<uint64_t> keys_;  // [rows of the round]: entry and form
  std::vector<uint64_t> entries_;
  std::vector<uint32_t> firsts_;
  std::vector<const std::byte*> places_;  // of firsts_
  std::vector<Copy> copies_;
};

}  // namespace engram

#endif  // ENGRAM_SHARD_UNIQUE_ROWS_H_
