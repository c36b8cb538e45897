#include "shard/local_gather.h"

#include "absl/strings/str_cat.h"

namespace engram {

void LocalGather::Plan(absl::Span<const RowBlock> /*blocks*/, absl::Span<RoundHeader> /*headers*/) {}

absl::Status LocalGather::Ask(absl::Span<const RowBlock> blocks, Deadline /*deadline*/, absl::Status& rows) {
  if (once_) {
    unique_.Find(blocks);
    TargetsOf(blocks, targets_);
    rows.Update(gather_.Gather(shard_, targets_, unique_.entries(), unique_.firsts()));
    unique_.CopyRepeats();
    return absl::OkStatus();
  }
  for (const RowBlock& block : blocks) {
    rows.Update(shard_.table(block.layer_index).Gather(block.form, block.ids, {}, block.out));
  }
  return absl::OkStatus();
}

absl::Status LocalGather::Answer(const RoundHeader& header, Deadline /*deadline*/, absl::Status& /*rows*/) {
  return absl::InternalError(absl::StrCat("a round of rank ", header.asking_rank, " arrived at a rank that is alone"));
}

}  // namespace engram
