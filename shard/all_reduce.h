// ALL_REDUCE_BF16 and ALL_REDUCE_PACKED: every rank is told all rows, puts those it owns among zeros, and the sum over
// ranks is the answer, since exactly one rank owns a row.

#ifndef ENGRAM_SHARD_ALL_REDUCE_H_
#define ENGRAM_SHARD_ALL_REDUCE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "shard/anonymous_memory.h"
#include "shard/block_gather.h"
#include "shard/combine.h"
#include "shard/row_writer.h"
#include "shard/unique_rows.h"

namespace engram {

class AllReduce : public Combine {
 public:
  // `moved`: what is summed. kBf16: dequantised values, as the reference does (-0 becomes +0); kPacked: bytes, as
  // 64-bit words that cannot carry into each other.
  static absl::StatusOr<std::unique_ptr<Combine>> Make(RowForm moved, Collective& collective, Shard& shard,
                                                       const EngineOptions& options);

  void Plan(absl::Span<const RowBlock> blocks, absl::Span<RoundHeader> headers) override;
  absl::Status Ask(absl::Span<const RowBlock> blocks, Deadline deadline, absl::Status& rows) override;
  bool gathers_once() const override { return once_; }
  absl::Status Answer(const RoundHeader& header, Deadline deadline, absl::Status& rows) override;

 private:
  AllReduce(RowForm moved, Collective& collective, Shard& shard, bool once, AnonymousMemory sum, AnonymousMemory ids);

  // The round's entries into ids_; returns how many.
  uint64_t PutEntries(absl::Span<const RowBlock> blocks);

  // The round of every rank; ids_ is filled at the root.
  absl::Status Reduce(int root, uint64_t count, Deadline deadline, absl::Status& rows);
  absl::Status SumOverRanks(uint64_t bytes, Deadline deadline);
  void PutBlock(const RowBlock& block, const std::byte* sum);
  void PutUnique(absl::Span<const RowBlock> blocks);

  const RowForm moved_;
  Collective& collective_;
  Shard& shard_;
  const AnonymousMemory sum_;  // [rows_max] rows of form `moved_`, and up to 7 bytes to whole words
  const AnonymousMemory ids_;  // [rows_max] entries, in request order
  RowWriter writer_;
  const bool once_;
  UniqueRows unique_;
  uint64_t count_ = 0;  // entries of this round
  std::vector<RowTarget> targets_;
};

}  // namespace engram

#endif  // ENGRAM_SHARD_ALL_REDUCE_H_
