// One rank alone: straight from its tables to the blocks, whatever the mode.

#ifndef ENGRAM_SHARD_LOCAL_GATHER_H_
#define ENGRAM_SHARD_LOCAL_GATHER_H_

#include "shard/combine.h"

namespace engram {

class LocalGather : public Combine {
 public:
  explicit LocalGather(Shard& shard) : shard_(shard) {}

  void Plan(absl::Span<const RowBlock> blocks, absl::Span<RoundHeader> headers) override;
  absl::Status Ask(absl::Span<const RowBlock> blocks, Deadline deadline, absl::Status& rows) override;
  absl::Status Answer(const RoundHeader& header, Deadline deadline, absl::Status& rows) override;

 private:
  Shard& shard_;
};

}  // namespace engram

#endif  // ENGRAM_SHARD_LOCAL_GATHER_H_
