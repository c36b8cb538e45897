// The engine's figures: rounds as the server asks for them, on ranks that are there already.

#ifndef ENGRAM_TESTS_GPU_BENCH_ENGINE_BENCH_H_
#define ENGRAM_TESTS_GPU_BENCH_ENGINE_BENCH_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "model/files/checkpoint.h"
#include "shard/collective.h"
#include "shard/engine.h"
#include "tests/gpu/bench/options.h"
#include "tests/gpu/bench/report.h"

namespace engram::bench {

struct EngineCase {
  CombineMode mode;
  Placement placement;
};

// What the ranks are, beside their number.
struct EngineSetting {
  const BenchOptions& options;
  const Checkpoint& checkpoint;  // of EngineFiles
  GpuBackend* gpu = nullptr;     // null for placements of the CPU
  int cards = 1;                 // that the ranks have together
};

// Collective: every rank calls it. Loads an engine for each case and measures it; rank 0 adds the rows that docs/gpu.md
// lists under "engine". DATA_LOSS naming a row that is not what the tables hold; errors of LoadRank and Engine.
absl::Status BenchEngine(Collective& collective, const EngineSetting& setting, absl::Span<const EngineCase> cases,
                         BenchReport& report);

}  // namespace engram::bench

#endif  // ENGRAM_TESTS_GPU_BENCH_ENGINE_BENCH_H_
