// Whole engines on GPU ranks that are threads, each with a device of its own in the double; and rounds for them.

#ifndef ENGRAM_TESTS_GPU_GPU_ENGINE_H_
#define ENGRAM_TESTS_GPU_GPU_ENGINE_H_

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "shard/engine.h"
#include "shard/gpu/cuda_backend.h"
#include "tests/gpu/double/cuda_double.h"
#include "tests/unit/shard/round_case.h"

namespace engram {

inline constexpr CombineMode kCombineModes[] = {CombineMode::kAllReduceBf16, CombineMode::kAllReducePacked,
                                                CombineMode::kOwnerGather};

inline EngineOptions GpuOptionsOf(CombineMode mode, Placement placement) {
  EngineOptions options;
  options.combine = mode;
  options.placement = placement;
  options.gpu = &CudaBackend();
  options.round_rows_max = 4096;
  options.round_timeout = absl::Seconds(60);  // machines that test are slow; nothing here waits for it
  options.heartbeat = absl::Seconds(60);
  return options;
}

// Whatever a test does, nothing is left of it, and no byte was written where none may be.
class GpuEngineTest : public testing::Test {
 protected:
  void SetUp() override { Install(2); }
  void TearDown() override {
    EXPECT_THAT(cuda_double::Leaks(), testing::IsEmpty());
    EXPECT_THAT(cuda_double::Faults(), testing::IsEmpty());
  }

  static void Install(int lateness_ms, int devices = 8) {
    cuda_double::Plan plan;
    plan.lateness = std::chrono::milliseconds(lateness_ms);
    plan.devices = devices;
    cuda_double::Install(plan);
  }
};

// Job and engine of `ranks` ranks; OK or the error of Start.
struct GpuEngine {
  std::unique_ptr<Job> job;
  absl::Status started;
  std::unique_ptr<Engine> engine;

  GpuEngine(const Checkpoint& checkpoint, int ranks, const EngineOptions& options) : job(Job::Join(ranks).value()) {
    absl::StatusOr<std::unique_ptr<Engine>> made = job->Start(checkpoint, options);
    started = made.status();
    if (started.ok()) engine = *std::move(made);
  }
};

// `rows` random rows in `blocks` blocks of random layers and the forms that `mode` serves, some outputs odd.
inline RoundCase MakeRound(const Checkpoint& checkpoint, CombineMode mode, size_t rows, size_t blocks,
                           std::mt19937_64& random) {
  RoundCase round(checkpoint);
  for (; blocks > 0; --blocks) {
    const size_t layer = random() % checkpoint.geometry.layers();
    const size_t count = blocks == 1 ? rows : std::min<size_t>(rows, random() % (2 * rows / blocks + 1));
    std::vector<uint64_t> ids(count);
    for (uint64_t& id : ids) id = random() % checkpoint.geometry.rows[layer];
    rows -= count;
    const bool packed = Serves(mode, RowForm::kPacked) && random() % 2 == 0;
    round.Add(layer, packed ? RowForm::kPacked : RowForm::kBf16, std::move(ids), random() % 2 == 0);
  }
  return round;
}

}  // namespace engram

#endif  // ENGRAM_TESTS_GPU_GPU_ENGINE_H_
