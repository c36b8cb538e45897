// What a rank brings to its first round.

#ifndef ENGRAM_SHARD_LOADED_RANK_H_
#define ENGRAM_SHARD_LOADED_RANK_H_

#include <memory>

#include "absl/status/statusor.h"
#include "model/files/checkpoint.h"
#include "shard/collective.h"
#include "shard/combine.h"
#include "shard/engine.h"
#include "shard/load_meter.h"
#include "shard/shard.h"

namespace engram {

// `combine` works on `shard` and on the Collective it was loaded with.
struct LoadedRank {
  std::unique_ptr<Shard> shard;
  std::unique_ptr<Combine> combine;
};

// Collective: loads this rank's rows and makes sure that all ranks agree. INVALID_ARGUMENT for options or a model that
// the engine cannot serve, errors of Shard::Load and MakeCombine, errors of Agree.
absl::StatusOr<LoadedRank> LoadRank(Collective& collective, const Checkpoint& checkpoint, const EngineOptions& options,
                                    LoadMeter& meter);

}  // namespace engram

#endif  // ENGRAM_SHARD_LOADED_RANK_H_
