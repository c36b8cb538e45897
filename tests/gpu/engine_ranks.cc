#include "tests/gpu/engine_ranks.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "shard/deadline.h"
#include "shard/front_engine.h"
#include "shard/load_meter.h"
#include "shard/loaded_rank.h"
#include "shard/shard.h"
#include "shard/worker.h"
#include "tests/golden/golden_case.h"
#include "tests/gpu/rank_processes.h"
#include "tests/unit/shard/round_case.h"
#include "tests/unit/shard/synthetic_tables.h"

namespace engram {
namespace {

constexpr int kRandomRounds = 30;
constexpr int kOverlappingRounds = 12;
constexpr size_t kManyRows = 2500;  // of one block: no small round any more

void CheckGolden(Collective& collective, const EngineOptions& options, const std::string& name) {
  const absl::StatusOr<Checkpoint> checkpoint =
      OpenCheckpoint(GoldenPath(name + "_checkpoint"), GoldenPath(name + "_constants.gguf"));
  ASSERT_EQ(checkpoint.status(), absl::OkStatus());
  LiveAsEngineRank(collective, *checkpoint, options, [&](Engine& engine) {
    ExpectGoldenRounds(engine, *checkpoint, LoadGoldenCase(name), options.combine, collective.ranks());
  });
}

void FinishOldest(Engine& engine, std::deque<RoundCase>& begun, CombineMode mode, int ranks) {
  ASSERT_EQ(engine.Finish(), absl::OkStatus());
  ASSERT_NO_FATAL_FAILURE(begun.front().ExpectRows(mode, ranks));
  begun.pop_front();
}

// As many rounds at once as the engine takes, small and large ones mixed.
void ExpectOverlappingRounds(Engine& engine, const Checkpoint& checkpoint, CombineMode mode, int ranks) {
  std::mt19937_64 random(5);
  std::deque<RoundCase> begun;
  for (int i = 0; i < kOverlappingRounds; ++i) {
    begun.emplace_back(checkpoint).AddRandom(mode, 150, random);
    std::vector<uint64_t> many(i % 3 == 0 ? kManyRows : 0);
    for (uint64_t& id : many) id = random() % checkpoint.geometry.rows[2];
    begun.back().Add(2, RowForm::kBf16, std::move(many), i % 2 == 0);
    ASSERT_EQ(engine.Begin(begun.back().MakeBlocks()), absl::OkStatus());
    if (begun.size() == static_cast<size_t>(engine.rounds_in_flight_max())) {
      ASSERT_NO_FATAL_FAILURE(FinishOldest(engine, begun, mode, ranks));
    }
  }
  while (!begun.empty()) ASSERT_NO_FATAL_FAILURE(FinishOldest(engine, begun, mode, ranks));
}

// Three layers of odd sizes, one with fewer rows than there may be ranks. Every rank writes files of its own, alike.
void CheckSynthetic(Collective& collective, const EngineOptions& options, FileLayout layout, uint32_t head_dim) {
  const TempFolder folder;
  const Checkpoint checkpoint = WriteSyntheticCheckpoint(folder, layout, head_dim, {97, 3, 1000});
  LiveAsEngineRank(collective, checkpoint, options, [&](Engine& engine) {
    ExpectRandomRounds(engine, checkpoint, options.combine, collective.ranks(), kRandomRounds, 1000 + head_dim);
    ExpectOverlappingRounds(engine, checkpoint, options.combine, collective.ranks());
    EXPECT_EQ(engine.Gather({}), absl::OkStatus());
    EXPECT_EQ(engine.Heartbeat(), absl::OkStatus());
  });
}

}  // namespace

EngineOptions TestEngineOptions(CombineMode mode, Placement placement, GpuBackend* gpu) {
  EngineOptions options;
  options.combine = mode;
  options.placement = placement;
  options.gpu = gpu;
  options.round_rows_max = 16384;
  options.round_timeout = absl::Seconds(30);  // ranks that share a card take turns
  options.heartbeat = absl::Seconds(30);
  options.load_timeout = absl::Minutes(2);
  return options;
}

void LiveAsEngineRank(Collective& collective, const Checkpoint& checkpoint, const EngineOptions& options,
                      const std::function<void(Engine&)>& ask) {
  LoadMeter meter(Shard::BytesOf(checkpoint.geometry, collective.rank(), collective.ranks()), nullptr,
                  DeadlineAfter(options.load_timeout));
  absl::StatusOr<LoadedRank> loaded = LoadRank(collective, checkpoint, options, meter);
  ASSERT_EQ(loaded.status(), absl::OkStatus());
  if (collective.rank() != 0) {
    EXPECT_EQ(AnswerRounds(collective, *loaded->combine, options), absl::OkStatus());
    return;
  }
  FrontEngine engine(collective, *std::move(loaded), options, nullptr);
  ask(engine);
  EXPECT_EQ(engine.Stop(), absl::OkStatus());
}

void CheckEngineOnRank(Collective& collective, const EngineOptions& options) {
  for (const char* name : kGoldenNames) {
    SCOPED_TRACE(name);
    CheckGolden(collective, options, name);
    if (testing::Test::HasFailure()) return;
  }
  for (const auto& [layout, head_dim] : {std::pair(FileLayout::kApart, 32u), std::pair(FileLayout::kPacked, 256u)}) {
    SCOPED_TRACE(head_dim);
    CheckSynthetic(collective, options, layout, head_dim);
    if (testing::Test::HasFailure()) return;
  }
}

void RunOnRankProcesses(int ranks, absl::Duration limit, const std::function<void(Collective&)>& body) {
  const absl::StatusOr<std::vector<RankExit>> exits = RunRankProcesses(ranks, limit, [&body](Collective& collective) {
    body(collective);
    return testing::Test::HasFailure() ? 1 : 0;
  });
  ASSERT_EQ(exits.status(), absl::OkStatus());
  EXPECT_EQ(FailuresOf(*exits), "");
}

}  // namespace engram
