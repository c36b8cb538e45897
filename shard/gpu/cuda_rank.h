// One rank's GPU over the CUDA runtime.

#ifndef ENGRAM_SHARD_GPU_CUDA_RANK_H_
#define ENGRAM_SHARD_GPU_CUDA_RANK_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shard/gpu/device_memory.h"
#include "shard/gpu_backend.h"

namespace engram {

// Every call makes its device current and puts back the one before.
class CudaRank : public GpuRank {
 public:
  // Errors of the runtime where the device cannot be asked or used.
  static absl::StatusOr<std::unique_ptr<GpuRank>> Open(int device);

  const std::string& id() const override { return id_; }
  absl::StatusOr<std::vector<std::string>> Plan(const GpuLoad& load) override;
  absl::StatusOr<std::unique_ptr<Table>> LoadTable(Placement placement, TableSource source, ShardRange range,
                                                   LoadMeter& meter) override;
  absl::StatusOr<std::unique_ptr<Combine>> MakeCombine(CombineMode mode, Collective& host, Shard& shard,
                                                       uint64_t rows_max) override;
  // FAILED_PRECONDITION the second time.
  absl::Status PinReplyMemory(absl::Span<std::byte> memory) override;

 private:
  CudaRank(int device, std::string id, std::string name)
      : device_(device), id_(std::move(id)), name_(std::move(name)) {}

  const int device_;
  const std::string id_;
  const std::string name_;     // for the log: ordinal, product, compute capability
  PinnedBuffer reply_memory_;  // the caller's
};

}  // namespace engram

#endif  // ENGRAM_SHARD_GPU_CUDA_RANK_H_
