// OWNER_GATHER: each rank is told only the rows it owns, and sends each once, packed; ranks that share the front end's
// memory write them there instead.

#ifndef ENGRAM_SHARD_OWNER_GATHER_H_
#define ENGRAM_SHARD_OWNER_GATHER_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "shard/anonymous_memory.h"
#include "shard/block_gather.h"
#include "shard/combine.h"
#include "shard/direct_rows.h"
#include "shard/row_plan.h"
#include "shard/row_writer.h"
#include "shard/unique_rows.h"

namespace engram {

class OwnerGather : public Combine {
 public:
  static absl::StatusOr<std::unique_ptr<Combine>> Make(Collective& collective, Shard& shard,
                                                       const EngineOptions& options);

  absl::Status Connect(Deadline deadline) override;
  ReplyMemory reply_memory() const override;
  void Plan(absl::Span<const RowBlock> blocks, absl::Span<RoundHeader> headers) override;
  absl::Status Ask(absl::Span<const RowBlock> blocks, Deadline deadline, absl::Status& rows) override;
  absl::Status Deliver(Deadline deadline) override;
  bool gathers_once() const override { return once_; }
  absl::Status Answer(const RoundHeader& header, Deadline deadline, absl::Status& rows) override;

 private:
  OwnerGather(Collective& collective, Shard& shard, const EngineOptions& options, AnonymousMemory staging,
              AnonymousMemory ids);

  // Whether rank `rank` has found its questions in shared memory.
  bool IsDirect(int rank) const { return direct_blocks_ > 0 && direct_->Reaches(rank); }
  absl::Status SendIds(Deadline deadline);
  absl::Status ReceiveRows(Deadline deadline);
  // The rows of `rank`, as received, to their blocks.
  void PlaceRows(size_t rank);
  absl::Status AnswerByMessage(const RoundHeader& header, Deadline deadline, absl::Status& rows);

  Collective& collective_;
  Shard& shard_;
  const AnonymousMemory
      staging_;                // [rows_max, packed_row_bytes]: rows in the order of the plan, or of the ids received
  const AnonymousMemory ids_;  // [rows_max] entries received
  RowPlan plan_;
  RowWriter writer_;
  const uint64_t rows_max_;
  const uint64_t reply_bytes_;
  const bool once_;
  UniqueRows unique_;
  std::shared_ptr<const void> memory_owner_;
  std::unique_ptr<DirectRows> direct_;  // once connected
  uint64_t direct_blocks_ = 0;          // of this round
  std::vector<RowTarget> targets_;      // the blocks of this round
  BlockGather own_;
};

}  // namespace engram

#endif  // ENGRAM_SHARD_OWNER_GATHER_H_
