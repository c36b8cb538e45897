#include "shard/gpu/cuda_rank.h"

#include <cstdlib>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "model/digest.h"
#include "model/files/errors.h"
#include "shard/anonymous_memory.h"
#include "shard/gpu/gpu_combine.h"
#include "shard/gpu/gpu_table.h"
#include "shard/gpu/memory_plan.h"
#include "shard/gpu/round_buffers.h"

namespace engram {
namespace {

// The oldest of cmake/EngramCuda.cmake's architectures.
constexpr int kComputeCapabilityLeast = 75;

// NCCL takes ranks of one host for neighbours, and what is one host is said by NCCL_HOSTID where it is set.
std::string IdOf(const cudaDeviceProp& properties) {
  const char* host = std::getenv("NCCL_HOSTID");
  Digest digest;
  digest.AddBytes({properties.uuid.bytes, sizeof(properties.uuid.bytes)});
  digest.AddBytes(host == nullptr ? std::string_view() : std::string_view(host));
  return digest.Finish();
}

std::string NameOf(int device, const cudaDeviceProp& properties) {
  return absl::StrCat("device ", device, " (", properties.name, ", compute capability ", properties.major, ".",
                      properties.minor, ")");
}

}  // namespace

absl::StatusOr<std::unique_ptr<GpuRank>> CudaRank::Open(int device) {
  ENGRAM_RETURN_IF_ERROR(UseDevice(device));
  cudaDeviceProp properties;
  ENGRAM_RETURN_IF_CUDA_ERROR(cudaGetDeviceProperties(&properties, device));
  if (properties.major * 10 + properties.minor < kComputeCapabilityLeast) {
    return absl::FailedPreconditionError(
        absl::StrCat(NameOf(device, properties), " is too old: the kernels need compute capability 7.5"));
  }
  return std::unique_ptr<GpuRank>(new CudaRank(device, IdOf(properties), NameOf(device, properties)));
}

absl::StatusOr<std::vector<std::string>> CudaRank::Plan(const GpuLoad& load) {
  ENGRAM_RETURN_IF_ERROR(UseDevice(device_));
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  ENGRAM_RETURN_IF_CUDA_ERROR(cudaMemGetInfo(&free_bytes, &total_bytes));
  const EngineOptions& options = load.options;
  const RoundBytes rounds = RoundBytesOf(options.combine, load.geometry, options.round_rows_max, load.ranks);
  return PlanMemory(load, rounds, {name_, free_bytes, total_bytes, AvailableMemory()});
}

absl::StatusOr<std::unique_ptr<Table>> CudaRank::LoadTable(Placement placement, TableSource source, ShardRange range,
                                                           LoadMeter& meter) {
  return GpuTable::Load(placement, std::move(source), range, device_, meter);
}

absl::StatusOr<std::unique_ptr<Combine>> CudaRank::MakeCombine(CombineMode mode, Collective& host, Shard& shard,
                                                               uint64_t rows_max) {
  ENGRAM_RETURN_IF_ERROR(UseDevice(device_));
  return GpuCombine::Make(mode, host, shard, rows_max, device_);
}

absl::Status CudaRank::PinReplyMemory(absl::Span<std::byte> memory) {
  if (reply_memory_.data() != nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("reply memory is pinned once: ", reply_memory_.size(), " bytes are"));
  }
  ENGRAM_ASSIGN_OR_RETURN(reply_memory_, PinnedBuffer::Register(device_, memory, "reply memory"));
  return absl::OkStatus();
}

}  // namespace engram
