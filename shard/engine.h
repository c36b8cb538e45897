// The front door of shard/: a job of ranks that own the tables' rows, and rounds that gather rows from all of them.
//
// No MPI, CUDA or NCCL type appears here. One thread a rank, the engine thread, calls Join, Start/Serve, Gather,
// Heartbeat and Stop; every call of those libraries happens on it.

#ifndef ENGRAM_SHARD_ENGINE_H_
#define ENGRAM_SHARD_ENGINE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "model/files/checkpoint.h"

namespace engram {

enum class CombineMode { kAllReduceBf16, kAllReducePacked, kOwnerGather };
enum class Placement { kHost, kMapped };
enum class RowForm { kPacked, kBf16 };

std::string_view NameOf(CombineMode mode);     // "OWNER_GATHER"
std::string_view NameOf(Placement placement);  // "MAPPED"

// What a combine mode can deliver: ALL_REDUCE_BF16 serves bf16 only.
bool Serves(CombineMode mode, RowForm form);

struct LoadProgress {
  uint64_t bytes_done = 0;
  uint64_t bytes_total = 0;
};

struct EngineOptions {
  CombineMode combine = CombineMode::kOwnerGather;
  Placement placement = Placement::kMapped;
  uint64_t round_rows_max = 65536;                    // rows of one round, all blocks together
  absl::Duration round_timeout = absl::Seconds(10);   // a round not finished by then is lost, and with it the job
  absl::Duration heartbeat = absl::Seconds(1);        // how often the front end promises a round or a Heartbeat
  absl::Duration load_timeout = absl::Hours(1);       // all ranks must have loaded by then
  std::function<void(const LoadProgress&)> progress;  // of this rank's shard, from a loading thread; may be empty
};

// Rows of one layer, in one form, wanted by one round.
struct RowBlock {
  size_t layer_index = 0;           // into Geometry.layer_ids
  RowForm form = RowForm::kPacked;  // one the combine mode serves, unless ids is empty
  absl::Span<const uint64_t> ids;   // row ids of the layer, each < rows
  std::byte* out = nullptr;         // ids.size() rows of packed_row_bytes() or bf16_row_bytes(), in order; unaligned
};

// One rank's share of a layer, for logs: rows [begin, end).
struct ShardRange {
  uint64_t begin = 0;
  uint64_t end = 0;
};

// Rank `rank` of `ranks` owns [rank*part, (rank+1)*part) with part = ceil(rows/ranks), both ends clipped to rows
// (ParallelEngramEmbedding of the reference).
ShardRange ShardOf(uint64_t rows, size_t rank, size_t ranks);

// The front end's handle on all ranks. Engine thread only.
class Engine {
 public:
  virtual ~Engine() = default;

  // One round: fills every block's `out`. Zero blocks and empty blocks are ordinary. Every rank takes part.
  //   INVALID_ARGUMENT  an id >= rows, more rows than round_rows_max, a form the mode does not serve; nothing was
  //   moved. DATA_LOSS         a table file changed under a rank; the contents of `out` are undefined, later rounds may
  //   succeed. UNAVAILABLE       a rank was lost or did not answer within round_timeout: the job must end (Job::Abort).
  virtual absl::Status Gather(absl::Span<const RowBlock> blocks) = 0;

  // An empty round that proves every rank alive. Errors as Gather.
  virtual absl::Status Heartbeat() = 0;

  // Tells all ranks to leave Serve. Call once, last.
  virtual absl::Status Stop() = 0;
};

// The ranks that were launched together. Construct, use and destroy on the engine thread.
class Job {
 public:
  // Under mpirun (OMPI_COMM_WORLD_SIZE, PMI_SIZE or PMIX_RANK in the environment) joins that job; `shards` must be 1
  // then (INVALID_ARGUMENT). Otherwise this process drives `shards` ranks as threads and is the front end.
  static absl::StatusOr<std::unique_ptr<Job>> Join(int shards);
  virtual ~Job() = default;

  virtual int rank() const = 0;  // of this process
  virtual int ranks() const = 0;
  bool is_front() const { return rank() == 0; }

  // Collective: every rank calls Start (rank 0) or Serve (the others) with the same checkpoint and options. Loads this
  // rank's rows, then checks between ranks that digests, geometry, mode and row ranges agree (FAILED_PRECONDITION
  // naming the rank that differs). `checkpoint` must outlive the engine.
  virtual absl::StatusOr<std::unique_ptr<Engine>> Start(const Checkpoint& checkpoint, const EngineOptions& options) = 0;

  // Loads and answers rounds until the front end stops (OK) or falls silent for heartbeat + round_timeout
  // (UNAVAILABLE).
  virtual absl::Status Serve(const Checkpoint& checkpoint, const EngineOptions& options) = 0;

  // Ends all ranks at once with this exit code, without waiting for any of them. Any thread.
  [[noreturn]] virtual void Abort(int exit_code) = 0;
};

}  // namespace engram

#endif  // ENGRAM_SHARD_ENGINE_H_
