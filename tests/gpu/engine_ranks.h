// One rank's life in a test of the whole engine, and the rounds that prove it right: the golden cases and random rounds
// of synthetic tables. Any placement; the ranks may be processes or threads.

#ifndef ENGRAM_TESTS_GPU_ENGINE_RANKS_H_
#define ENGRAM_TESTS_GPU_ENGINE_RANKS_H_

#include <functional>

#include "absl/time/time.h"
#include "model/files/checkpoint.h"
#include "shard/collective.h"
#include "shard/engine.h"

namespace engram {

// Those of the tests here; placement and mode on top.
EngineOptions TestEngineOptions(CombineMode mode, Placement placement, GpuBackend* gpu);

// Loads; then rank 0 asks, stops the engine and the others answer until then. Failures are those of the running test.
void LiveAsEngineRank(Collective& collective, const Checkpoint& checkpoint, const EngineOptions& options,
                      const std::function<void(Engine&)>& ask);

// Golden cases, then random rounds one by one and overlapping, one engine after the other. What every rank of a test
// does.
void CheckEngineOnRank(Collective& collective, const EngineOptions& options);

// Runs `body` on ranks that are processes; what fails there fails the running test, with what those ranks printed.
void RunOnRankProcesses(int ranks, absl::Duration limit, const std::function<void(Collective&)>& body);

}  // namespace engram

#endif  // ENGRAM_TESTS_GPU_ENGINE_RANKS_H_
