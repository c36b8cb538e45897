// Before the first round: do all ranks serve the same model in the same way?

#ifndef ENGRAM_SHARD_AGREEMENT_H_
#define ENGRAM_SHARD_AGREEMENT_H_

#include <string>

#include "absl/status/status.h"
#include "model/files/checkpoint.h"
#include "shard/collective.h"
#include "shard/engine.h"

namespace engram {

// Collective. `mine`: how this rank fared so far; `gpu`: GpuRank::id, empty on a CPU rank. All ranks return the same:
// OK; the first rank's error; or FAILED_PRECONDITION naming the rank that differs, the field and both values, or the
// two ranks on one GPU. UNAVAILABLE when a rank says nothing by the deadline.
absl::Status Agree(Collective& collective, const Checkpoint& checkpoint, const EngineOptions& options,
                   const std::string& gpu, const absl::Status& mine, Deadline deadline);

// The same without anything to compare.
absl::Status AgreeOnStatus(Collective& collective, const absl::Status& mine, Deadline deadline);

}  // namespace engram

#endif  // ENGRAM_SHARD_AGREEMENT_H_
