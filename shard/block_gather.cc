#include "shard/block_gather.h"

#include "shard/row_plan.h"

namespace engram {

void TargetsOf(absl::Span<const RowBlock> blocks, std::vector<RowTarget>& targets) {
  targets.clear();
  for (const RowBlock& block : blocks) {
    targets.push_back({block.layer_index, block.form, block.ids.size(), block.out});
  }
}

absl::Status BlockGather::Gather(Shard& shard, absl::Span<const RowTarget> targets, absl::Span<const uint64_t> entries,
                                 absl::Span<const uint32_t> requests) {
  absl::Status status;
  size_t open = 0;
  rows_.clear();
  slots_.clear();
  const auto flush = [&] {
    if (rows_.empty()) return;
    const RowTarget& target = targets[open];
    status.Update(shard.table(target.layer_index).Gather(target.form, rows_, slots_, target.out));
    rows_.clear();
    slots_.clear();
  };
  ForEachRequest(targets, requests, [&](size_t target, uint32_t slot, size_t i) {
    if (target != open) flush();
    open = target;
    rows_.push_back(RowOf(entries[i]));
    slots_.push_back(slot);
  });
  flush();
  return status;
}

}  // namespace engram
