#include "shard/combine.h"

#include "shard/all_reduce.h"
#include "shard/local_gather.h"
#include "shard/owner_gather.h"

namespace engram {

absl::StatusOr<std::unique_ptr<Combine>> MakeCombine(CombineMode mode, Collective& collective, Shard& shard,
                                                     uint64_t rows_max, uint64_t reply_bytes) {
  if (collective.ranks() == 1) return std::make_unique<LocalGather>(shard);
  switch (mode) {
    case CombineMode::kAllReduceBf16:
      return AllReduce::Make(RowForm::kBf16, collective, shard, rows_max);
    case CombineMode::kAllReducePacked:
      return AllReduce::Make(RowForm::kPacked, collective, shard, rows_max);
    case CombineMode::kOwnerGather:
      return OwnerGather::Make(collective, shard, rows_max, reply_bytes);
  }
  return absl::InvalidArgumentError("combine: unknown mode");
}

}  // namespace engram
