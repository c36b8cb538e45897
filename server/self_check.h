// Before a server says SERVING: rows through all ranks against rows read plainly from the files.

#ifndef ENGRAM_SERVER_SELF_CHECK_H_
#define ENGRAM_SERVER_SELF_CHECK_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "model/files/checkpoint.h"
#include "shard/engine.h"

namespace engram {

// Gathers the first and last row of every rank and some between, of every layer, in every form the mode serves, and
// compares them with TableReader. Returns how many rows were compared. INTERNAL naming layer, row and form where bytes
// differ; else the errors of Engine::Gather and TableReader. Engine thread.
absl::StatusOr<uint64_t> SelfCheck(Engine& engine, const Checkpoint& checkpoint, const EngineOptions& options,
                                   size_t ranks);

}  // namespace engram

#endif  // ENGRAM_SERVER_SELF_CHECK_H_
