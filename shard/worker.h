// What a rank that is not the front end does all its life.

#ifndef ENGRAM_SHARD_WORKER_H_
#define ENGRAM_SHARD_WORKER_H_

#include "absl/status/status.h"
#include "shard/collective.h"
#include "shard/combine.h"
#include "shard/engine.h"

namespace engram {

// Answers rounds until one says stop (OK). UNAVAILABLE when none comes for heartbeat + round_timeout or a peer is lost
// in the middle of one, INTERNAL for a header that makes no sense.
absl::Status AnswerRounds(Collective& collective, Combine& combine, const EngineOptions& options);

}  // namespace engram

#endif  // ENGRAM_SHARD_WORKER_H_
