// What a rank brings to its first round.

#ifndef ENGRAM_SHARD_LOADED_RANK_H_
#define ENGRAM_SHARD_LOADED_RANK_H_

#include <memory>

#include "absl/status/statusor.h"
#include "model/files/checkpoint.h"
#include "shard/collective.h"
#include "shard/combine.h"
#include "shard/engine.h"
#include "shard/gather_pool.h"
#include "shard/gpu_backend.h"
#include "shard/load_meter.h"
#include "shard/shard.h"

namespace engram {

// `combine` works on `shard` and on the Collective it was loaded with, both on `gpu` or `pool`, whichever there is.
struct LoadedRank {
  std::unique_ptr<GatherPool> pool;  // null on GPU ranks
  std::unique_ptr<GpuRank> gpu;      // null on CPU ranks
  std::unique_ptr<Shard> shard;
  std::unique_ptr<Combine> combine;
};

// Collective: makes sure that all ranks agree, then loads this rank's rows. INVALID_ARGUMENT for options or a model
// that the engine cannot serve, FAILED_PRECONDITION for GPU ranks where there is none, errors of Shard::Load,
// MakeCombine, Combine::Connect and Agree.
absl::StatusOr<LoadedRank> LoadRank(Collective& collective, const Checkpoint& checkpoint, const EngineOptions& options,
                                    LoadMeter& meter);

}  // namespace engram

#endif  // ENGRAM_SHARD_LOADED_RANK_H_
