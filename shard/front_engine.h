// Engine over any Collective: rank 0's side of every round.

#ifndef ENGRAM_SHARD_FRONT_ENGINE_H_
#define ENGRAM_SHARD_FRONT_ENGINE_H_

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "shard/collective.h"
#include "shard/engine.h"
#include "shard/loaded_rank.h"

namespace engram {

class FrontEngine : public Engine {
 public:
  // `collective` must outlive it; all ranks have agreed. `on_stopped` runs when all have left.
  FrontEngine(Collective& collective, LoadedRank loaded, const EngineOptions& options,
              std::function<void()> on_stopped);

  absl::Status Gather(absl::Span<const RowBlock> blocks) override;
  absl::Status Heartbeat() override { return Round(RoundOp::kHeartbeat, {}); }
  absl::Status Stop() override;

 private:
  absl::Status CheckBlocks(absl::Span<const RowBlock> blocks) const;
  absl::Status CheckBlock(const RowBlock& block, size_t index) const;
  // One rank: straight from the table to the blocks.
  absl::Status GatherAlone(absl::Span<const RowBlock> blocks);
  absl::Status Round(RoundOp op, absl::Span<const RowBlock> blocks);
  // The messages of a round. Returns what went wrong between ranks; `rows` gets the first rank's trouble with its rows.
  absl::Status Exchange(RoundOp op, absl::Span<const RowBlock> blocks, absl::Status& rows);

  Collective& collective_;
  const LoadedRank loaded_;
  const EngineOptions options_;
  const std::function<void()> on_stopped_;
  std::vector<RoundHeader> headers_;  // [ranks]
  uint64_t sequence_ = 0;
  absl::Status over_;  // why no further round is possible
};

}  // namespace engram

#endif  // ENGRAM_SHARD_FRONT_ENGINE_H_
