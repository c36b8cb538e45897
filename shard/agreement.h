// Before the first round: do all ranks serve the same model in the same way?

#ifndef ENGRAM_SHARD_AGREEMENT_H_
#define ENGRAM_SHARD_AGREEMENT_H_

#include "absl/status/status.h"
#include "model/files/checkpoint.h"
#include "shard/collective.h"
#include "shard/engine.h"

namespace engram {

// Collective. `loaded`: how this rank's load went. All ranks return the same: OK; the first rank's load error; or
// FAILED_PRECONDITION naming the rank that differs, the field and both values. UNAVAILABLE when a rank says nothing by
// the deadline.
absl::Status Agree(Collective& collective, const Checkpoint& checkpoint, const EngineOptions& options,
                   const absl::Status& loaded, Deadline deadline);

}  // namespace engram

#endif  // ENGRAM_SHARD_AGREEMENT_H_
