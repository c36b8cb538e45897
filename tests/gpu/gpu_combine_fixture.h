// One rank's Combine by itself, without an engine around it: in the double.

#ifndef ENGRAM_TESTS_GPU_GPU_COMBINE_FIXTURE_H_
#define ENGRAM_TESTS_GPU_GPU_COMBINE_FIXTURE_H_

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <random>

#include "model/files/errors.h"
#include "shard/combine.h"
#include "shard/gpu_backend.h"
#include "shard/load_meter.h"
#include "tests/gpu/gpu_engine.h"
#include "tests/gpu/gpu_ranks.h"
#include "tests/unit/shard/synthetic_tables.h"

namespace engram {

class GpuCombineTest : public GpuEngineTest {
 protected:
  // One rank with its shard, loaded and connected.
  struct Rank {
    std::unique_ptr<GpuRank> gpu;
    std::unique_ptr<Shard> shard;
    std::unique_ptr<Combine> combine;
  };

  absl::StatusOr<Rank> Load(CombineMode mode, Collective& host) const {
    const EngineOptions options = GpuOptionsOf(mode, Placement::kDevice);
    LoadMeter meter(0, nullptr, InAMinute());
    Rank rank;
    ENGRAM_ASSIGN_OR_RETURN(rank.gpu, CudaBackend().Open(host.local_rank()));
    ENGRAM_ASSIGN_OR_RETURN(rank.shard,
                            Shard::Load(checkpoint_, options, rank.gpu.get(), host.rank(), host.ranks(), meter));
    ENGRAM_ASSIGN_OR_RETURN(rank.combine, rank.gpu->MakeCombine(mode, host, *rank.shard, options.round_rows_max));
    ENGRAM_RETURN_IF_ERROR(rank.combine->Connect(InAMinute()));
    return rank;
  }

  // Runs `body` on one rank alone.
  void Alone(const std::function<void(Combine&)>& body) const {
    RunGpuRanks(1, [&](Collective& host) {
      const absl::StatusOr<Rank> rank = Load(CombineMode::kOwnerGather, host);
      ASSERT_EQ(rank.status(), absl::OkStatus());
      body(*rank->combine);
    });
  }

  RoundCase Make(size_t rows, size_t blocks) const {
    std::mt19937_64 random(rows);
    return MakeRound(checkpoint_, CombineMode::kOwnerGather, rows, blocks, random);
  }

  static absl::Status PlanAndAsk(Combine& combine, absl::Span<const RowBlock> blocks, Deadline deadline) {
    absl::Status rows;
    combine.Plan(blocks, {});
    ENGRAM_RETURN_IF_ERROR(combine.Ask(blocks, deadline, rows));
    return rows;
  }

  const TempFolder folder_;
  const Checkpoint checkpoint_ = WriteSyntheticCheckpoint(folder_, FileLayout::kApart, 32, {97, 500});
};

}  // namespace engram

#endif  // ENGRAM_TESTS_GPU_GPU_COMBINE_FIXTURE_H_
