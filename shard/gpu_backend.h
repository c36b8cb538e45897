// What shard/ asks of GPUs, without a word of CUDA. shard/gpu/ answers; a program built without CUDA has no answer.

#ifndef ENGRAM_SHARD_GPU_BACKEND_H_
#define ENGRAM_SHARD_GPU_BACKEND_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "model/geometry.h"
#include "shard/collective.h"
#include "shard/combine.h"
#include "shard/engine.h"
#include "shard/load_meter.h"
#include "shard/shard.h"
#include "shard/table.h"
#include "shard/table_source.h"

namespace engram {

// What one rank is about to hold on and beside its GPU.
struct GpuLoad {
  const Geometry& geometry;
  const EngineOptions& options;
  int rank = 0;
  int ranks = 1;
  int local_ranks = 1;  // that share this host's memory
};

// One rank's GPU. Used by its rank's engine thread alone; outlives the tables and the Combine that it made.
class GpuRank {
 public:
  virtual ~GpuRank() = default;

  // The same 32 bytes wherever this GPU is used, and others for any other GPU. Where NCCL_HOSTID says that ranks are on
  // hosts of their own, as NCCL takes it, so does this.
  virtual const std::string& id() const = 0;

  // What the layers and the rounds need, and what there is of it: a line each, for the log. Nothing is allocated.
  // RESOURCE_EXHAUSTED with the same numbers when it does not fit.
  virtual absl::StatusOr<std::vector<std::string>> Plan(const GpuLoad& load) = 0;

  // Rows `range` (not empty) of an opened table: DEVICE or HOST_PINNED. RESOURCE_EXHAUSTED, DATA_LOSS as
  // HostTable::Load.
  virtual absl::StatusOr<std::unique_ptr<Table>> LoadTable(Placement placement, TableSource source, ShardRange range,
                                                           LoadMeter& meter) = 0;

  // As MakeCombine of combine.h; all tables of `shard` are on this GPU's side. Allocates, and waits for nobody: that is
  // Combine::Connect. `host` carries headers and ids.
  virtual absl::StatusOr<std::unique_ptr<Combine>> MakeCombine(CombineMode mode, Collective& host, Shard& shard,
                                                               uint64_t rows_max) = 0;

  // Engine::PinReplyMemory.
  virtual absl::Status PinReplyMemory(absl::Span<std::byte> memory) = 0;
};

// All GPUs of this host. Thread-safe.
class GpuBackend {
 public:
  virtual ~GpuBackend() = default;

  // The GPU of the local_rank-th rank of this host: they go round where ranks are more, so that a launcher may also
  // show each rank one GPU alone. Two ranks on one GPU are found by their ids (agreement.h). FAILED_PRECONDITION when
  // there is no GPU, with the driver's reason.
  virtual absl::StatusOr<std::unique_ptr<GpuRank>> Open(int local_rank) = 0;
};

}  // namespace engram

#endif  // ENGRAM_SHARD_GPU_BACKEND_H_
