// One rank alone: straight from its tables to the blocks, whatever the mode.

#ifndef ENGRAM_SHARD_LOCAL_GATHER_H_
#define ENGRAM_SHARD_LOCAL_GATHER_H_

#include <vector>

#include "shard/block_gather.h"
#include "shard/combine.h"
#include "shard/unique_rows.h"

namespace engram {

class LocalGather : public Combine {
 public:
  LocalGather(Shard& shard, RepeatedRows repeated)
      : shard_(shard), once_(repeated == RepeatedRows::kOnce), unique_(shard.geometry().head_dim) {}

  void Plan(absl::Span<const RowBlock> blocks, absl::Span<RoundHeader> headers) override;
  absl::Status Ask(absl::Span<const RowBlock> blocks, Deadline deadline, absl::Status& rows) override;
  bool gathers_once() const override { return once_; }
  absl::Status Answer(const RoundHeader& header, Deadline deadline, absl::Status& rows) override;

 private:
  Shard& shard_;
  const bool once_;
  UniqueRows unique_;
  std::vector<RowTarget> targets_;
  BlockGather gather_;
};

}  // namespace engram

#endif  // ENGRAM_SHARD_LOCAL_GATHER_H_
