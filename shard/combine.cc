#include "shard/combine.h"

#include "shard/all_reduce.h"
#include "shard/local_gather.h"
#include "shard/owner_gather.h"

namespace engram {

absl::StatusOr<std::unique_ptr<Combine>> MakeCombine(const EngineOptions& options, Collective& collective,
                                                     Shard& shard) {
  if (collective.ranks() == 1) return std::make_unique<LocalGather>(shard, options.repeated_rows);
  switch (options.combine) {
    case CombineMode::kAllReduceBf16:
      return AllReduce::Make(RowForm::kBf16, collective, shard, options);
    case CombineMode::kAllReducePacked:
      return AllReduce::Make(RowForm::kPacked, collective, shard, options);
    case CombineMode::kOwnerGather:
      return OwnerGather::Make(collective, shard, options);
  }
  return absl::InvalidArgumentError("combine: unknown mode");
}

}  // namespace engram
