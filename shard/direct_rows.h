// OWNER_GATHER between ranks that share memory: the asker leaves its questions there, and each owner writes its rows
// straight to where they are wanted, in the form they are wanted. No row is sent, received or put in order.

#ifndef ENGRAM_SHARD_DIRECT_ROWS_H_
#define ENGRAM_SHARD_DIRECT_ROWS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "shard/block_gather.h"
#include "shard/collective.h"
#include "shard/round_header.h"
#include "shard/row_plan.h"

namespace engram {

// One rank's view. The memory holds the blocks of the round, its rows by owner (RowPlan's order), then the replies.
class DirectRows {
 public:
  // To be shared for rounds of `rows_max` rows and `reply_bytes` of replies.
  static uint64_t BytesFor(uint64_t rows_max, uint64_t reply_bytes);

  DirectRows(SharedMemory memory, uint64_t rows_max) : memory_(std::move(memory)), rows_max_(rows_max) {}

  // Where replies must lie; empty when nothing is shared.
  absl::Span<std::byte> reply_memory() const;

  // Asker, before the headers are sent. Returns how many blocks the owners will find; 0 when some reply lies elsewhere,
  // there are too many, or nothing is asked: then this round goes by messages.
  uint64_t Ask(absl::Span<const RowBlock> blocks, const RowPlan& plan);
  // Whether rank `rank` reads the questions.
  bool Reaches(int rank) const { return !memory_.seen_by.empty() && memory_.seen_by[static_cast<size_t>(rank)]; }

  // Owner, the asker's own part included. INTERNAL for questions that make no sense here, DATA_LOSS as Table::Gather.
  absl::Status Answer(const RoundHeader& header, Shard& shard);

 private:
  struct Block {
    uint64_t layer_index;
    uint64_t form;
    uint64_t rows;
    uint64_t out;  // in the reply memory
  };

  Block* blocks() const { return reinterpret_cast<Block*>(memory_.bytes.data()); }
  uint64_t* entries() const { return reinterpret_cast<uint64_t*>(blocks() + kDirectBlocksMax); }
  uint32_t* requests() const { return reinterpret_cast<uint32_t*>(entries() + rows_max_); }

  // The blocks of a round into targets_.
  absl::Status ReadBlocks(const RoundHeader& header, const Shard& shard);
  absl::Status CheckRows(const RoundHeader& header, const Shard& shard) const;

  const SharedMemory memory_;
  const uint64_t rows_max_;
  std::vector<RowTarget> targets_;
  uint64_t block_rows_ = 0;  // of all targets_; where rows are gathered once, more than the header's
  BlockGather gather_;
};

}  // namespace engram

#endif  // ENGRAM_SHARD_DIRECT_ROWS_H_
