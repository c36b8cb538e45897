// One rank on a GPU, and no other: it owns all rows, and gathers them in the forms asked, whatever the combine mode.

#ifndef ENGRAM_SHARD_GPU_GPU_ALONE_H_
#define ENGRAM_SHARD_GPU_GPU_ALONE_H_

#include <utility>
#include <vector>

#include "shard/gpu/gpu_combine.h"

namespace engram {

class GpuAlone : public GpuCombine {
 public:
  explicit GpuAlone(Parts parts) : GpuCombine(std::move(parts)) {}

  void Plan(absl::Span<const RowBlock> blocks, absl::Span<RoundHeader> headers) override;

 protected:
  std::vector<EntryGather::Call> FixedCalls(int slot) override;
  absl::Status EnqueueAsk(Deadline deadline) override;
  absl::Status EnqueueAnswer(int slot, const RoundHeader& header, Deadline deadline, absl::Status& rows) override;
};

}  // namespace engram

#endif  // ENGRAM_SHARD_GPU_GPU_ALONE_H_
