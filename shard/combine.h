// How the rows that ranks have become one answer: the data of a round, after its header and before its statuses.

#ifndef ENGRAM_SHARD_COMBINE_H_
#define ENGRAM_SHARD_COMBINE_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shard/collective.h"
#include "shard/engine.h"
#include "shard/shard.h"

namespace engram {

// One rank's part in the rounds of one combine mode; chosen once. Owns the staging memory for rows_max rows.
//
// Ask, Deliver and Answer return only what went wrong between ranks, after which the job is lost. What went wrong with
// this rank's table is left in `rows`, and the rank still moves all bytes of the round: the others wait for them.
class Combine {
 public:
  virtual ~Combine() = default;

  // Front end, before the headers are sent: sets rows and rows_of_rank in each of them. Valid blocks only. One rank
  // alone has no headers.
  virtual void Plan(absl::Span<const RowBlock> blocks, absl::Span<RoundHeader> headers) = 0;
  // Collective, once, when every rank is loaded and before the first round: whatever ranks must set up together.
  virtual absl::Status Connect(Deadline /*deadline*/) { return absl::OkStatus(); }

  // Front end: fills the blocks that were planned, or begins to: see Deliver.
  virtual absl::Status Ask(absl::Span<const RowBlock> blocks, Deadline deadline, absl::Status& rows) = 0;
  // Front end, after an Ask that was OK, in the order of Asks: waits until its blocks are filled. At most
  // rounds_in_flight_max() Asks are not delivered.
  virtual absl::Status Deliver(Deadline /*deadline*/) { return absl::OkStatus(); }
  virtual int rounds_in_flight_max() const { return 1; }
  // Whether rows that a round has several times are gathered once.
  virtual bool gathers_once() const { return false; }

  // Engine::reply_memory; once connected.
  virtual ReplyMemory reply_memory() const { return {}; }

  // All other ranks. `header` is valid.
  virtual absl::Status Answer(const RoundHeader& header, Deadline deadline, absl::Status& rows) = 0;
};

// On CPU ranks. `collective` and `shard` must outlive it. RESOURCE_EXHAUSTED without memory for the staging.
absl::StatusOr<std::unique_ptr<Combine>> MakeCombine(const EngineOptions& options, Collective& collective,
                                                     Shard& shard);

}  // namespace engram

#endif  // ENGRAM_SHARD_COMBINE_H_
