// One round over the ranks: the frames it answers, the row ids to gather by, and where the rows go.

#ifndef ENGRAM_SERVER_ROUND_H_
#define ENGRAM_SERVER_ROUND_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "model/ngram_hash.h"
#include "model/unique_ids.h"
#include "server/step_queue.h"
#include "shard/engine.h"

namespace engram {

// Life cycle: frames picked, HashRound, begun, finished, delivered, Clear. The engine writes into the frames' buffers
// until the round is finished, so it must stay until then. Engine thread.
struct Round {
  std::vector<PickedFrame> frames;
  std::vector<uint64_t> ids;     // of all frames that are gathered
  std::vector<RowBlock> blocks;  // one a frame; empty ids where nothing is gathered
  UniqueIds unique;              // of one frame after the other
  bool begun = false;            // by the engine, and not finished
  absl::Status status;           // of what the engine has done of it so far

  uint64_t rows() const;  // to gather

  // Its frames must be claimed. The vectors keep their memory for the next round.
  void Clear();
};

// Whether the ranks have rows for it: not for hash ids, nor for results alone.
bool IsGathered(const PickedFrame& picked);

// Sets ids and blocks. Hash ids that are the answer go straight into the reply. Under Step.unique_rows a frame that has
// rows several times gets its row_index, and a payload cut to the different ones, where both together are smaller than
// all rows: so no frame is larger than its plan allows for.
void HashRound(const NgramHasher& hasher, Round& round);

// Of one step, in order.
std::vector<RowBlock> BlocksOf(const QueuedStep& step, const Round& round);

}  // namespace engram

#endif  // ENGRAM_SERVER_ROUND_H_
