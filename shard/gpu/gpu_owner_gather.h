// OWNER_GATHER between GPUs: as owner_gather.h; rows go from device to device.

#ifndef ENGRAM_SHARD_GPU_GPU_OWNER_GATHER_H_
#define ENGRAM_SHARD_GPU_GPU_OWNER_GATHER_H_

#include <cstdint>
#include <vector>

#include "shard/gpu/gpu_combine.h"
#include "shard/row_plan.h"

namespace engram {

class GpuOwnerGather : public GpuCombine {
 public:
  explicit GpuOwnerGather(Parts parts);

  void Plan(absl::Span<const RowBlock> blocks, absl::Span<RoundHeader> headers) override;

 protected:
  std::vector<EntryGather::Call> FixedCalls(int slot) override;
  absl::Status WarmUpKernels() override;
  absl::Status EnqueueAsk(Deadline deadline) override;
  absl::Status EnqueueAnswer(int slot, const RoundHeader& header, Deadline deadline, absl::Status& rows) override;

 private:
  absl::Status SendIds(Deadline deadline);
  absl::Status GatherOwn();
  // Those of the others, behind and before the own ones.
  absl::Status ReceiveRows(Deadline deadline);
  // Rows sorted by owner, back to request order in the forms asked.
  absl::Status PlaceRows(uint64_t rows, size_t runs);
  uint64_t CountOwned(absl::Span<const uint64_t> entries) const;

  RowPlan plan_;
};

}  // namespace engram

#endif  // ENGRAM_SHARD_GPU_GPU_OWNER_GATHER_H_
