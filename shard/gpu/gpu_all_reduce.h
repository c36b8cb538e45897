// ALL_REDUCE_BF16 and ALL_REDUCE_PACKED between GPUs: as all_reduce.h, the sums being NCCL's.

#ifndef ENGRAM_SHARD_GPU_GPU_ALL_REDUCE_H_
#define ENGRAM_SHARD_GPU_GPU_ALL_REDUCE_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "shard/gpu/gpu_combine.h"

namespace engram {

class GpuAllReduce : public GpuCombine {
 public:
  // `moved`: what is summed. kBf16 in the slot's `rows`, kPacked in its `sums`, from where bf16 rows are dequantised.
  GpuAllReduce(RowForm moved, Parts parts) : GpuCombine(std::move(parts)), moved_(moved) {}

  void Plan(absl::Span<const RowBlock> blocks, absl::Span<RoundHeader> headers) override;

 protected:
  std::vector<EntryGather::Call> FixedCalls(int slot) override;
  absl::Status WarmUpKernels() override;
  absl::Status EnqueueAsk(Deadline deadline) override;
  absl::Status EnqueueAnswer(int slot, const RoundHeader& header, Deadline deadline, absl::Status& rows) override;

 private:
  // The part of every rank; the slot's entries are filled at the root.
  absl::Status Reduce(int root, int slot, uint64_t rows, Deadline deadline);
  absl::Status SumOverRanks(int slot, uint64_t bytes, Deadline deadline);
  // Sums to the rows asked.
  absl::Status Finish(const Run& run, int slot);
  std::byte* Summed(int slot) const;

  const RowForm moved_;
};

}  // namespace engram

#endif  // ENGRAM_SHARD_GPU_GPU_ALL_REDUCE_H_
