// OWNER_GATHER: each rank is told only the rows it owns, and sends each once, packed.

#ifndef ENGRAM_SHARD_OWNER_GATHER_H_
#define ENGRAM_SHARD_OWNER_GATHER_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "shard/anonymous_memory.h"
#include "shard/combine.h"
#include "shard/row_plan.h"
#include "shard/row_writer.h"

namespace engram {

class OwnerGather : public Combine {
 public:
  static absl::StatusOr<std::unique_ptr<Combine>> Make(Collective& collective, Shard& shard, uint64_t rows_max);

  void Plan(absl::Span<const RowBlock> blocks, absl::Span<RoundHeader> headers) override;
  absl::Status Ask(absl::Span<const RowBlock> blocks, Deadline deadline, absl::Status& rows) override;
  absl::Status Answer(const RoundHeader& header, Deadline deadline, absl::Status& rows) override;

 private:
  OwnerGather(Collective& collective, Shard& shard, AnonymousMemory staging, AnonymousMemory ids);

  absl::Status SendIds(Deadline deadline);
  absl::Status ReceiveRows(Deadline deadline);
  // The front end's own rows need no message: straight from its table to the blocks.
  absl::Status GatherOwn(absl::Span<const RowBlock> blocks);
  // The rows of `rank`, as received, to their blocks.
  void PlaceRows(absl::Span<const RowBlock> blocks, size_t rank);

  Collective& collective_;
  Shard& shard_;
  const AnonymousMemory
      staging_;                // [rows_max, packed_row_bytes]: rows in the order of the plan, or of the ids received
  const AnonymousMemory ids_;  // [rows_max] entries received
  RowPlan plan_;
  RowWriter writer_;
  std::vector<uint64_t> own_rows_;  // of one block
  std::vector<uint32_t> own_slots_;
};

}  // namespace engram

#endif  // ENGRAM_SHARD_OWNER_GATHER_H_
