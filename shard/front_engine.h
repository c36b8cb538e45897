// Engine over any Collective: rank 0's side of every round.

#ifndef ENGRAM_SHARD_FRONT_ENGINE_H_
#define ENGRAM_SHARD_FRONT_ENGINE_H_

#include <cstdint>
#include <deque>
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
  absl::Status Begin(absl::Span<const RowBlock> blocks) override;
  absl::Status Finish() override;
  int rounds_in_flight_max() const override { return loaded_.combine->rounds_in_flight_max(); }
  bool serves_any_thread() const override;
  ReplyMemory reply_memory() const override { return loaded_.combine->reply_memory(); }
  absl::Status PinReplyMemory(absl::Span<std::byte> memory) override;
  absl::Status Heartbeat() override;
  absl::Status Stop() override;

 private:
  absl::Status CheckBlocks(absl::Span<const RowBlock> blocks) const;
  absl::Status CheckBlock(const RowBlock& block, size_t index) const;
  // Both return what went wrong between ranks, after which no round is possible; `rows` gets the first rank's trouble
  // with its rows.
  absl::Status Alone(absl::Span<const RowBlock> blocks, absl::Status& rows);
  absl::Status Round(RoundOp op, absl::Span<const RowBlock> blocks, absl::Status& rows);
  absl::Status Lose(const absl::Status& between_ranks);
  absl::Status EndLost();
  // The messages of a round.
  absl::Status Exchange(RoundOp op, absl::Span<const RowBlock> blocks, absl::Status& rows);

  Collective& collective_;
  const LoadedRank loaded_;
  const EngineOptions options_;
  const std::function<void()> on_stopped_;
  std::vector<RoundHeader> headers_;  // [ranks]
  uint64_t sequence_ = 0;
  std::deque<absl::Status> rows_;  // of the rounds begun and not finished
  absl::Status over_;              // why no further round is possible
};

}  // namespace engram

#endif  // ENGRAM_SHARD_FRONT_ENGINE_H_
