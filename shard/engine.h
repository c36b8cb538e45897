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
enum class Placement { kHost, kMapped, kDevice, kHostPinned };
enum class RowForm { kPacked, kBf16 };
// What becomes of rows that a round has several times (sharding.repeated_rows). kDefault: kOnce for ALL_REDUCE_BF16 of
// several ranks, else kEach. GPU ranks know kEach alone.
enum class RepeatedRows { kDefault, kOnce, kEach };

std::string_view NameOf(CombineMode mode);     // "OWNER_GATHER"
std::string_view NameOf(Placement placement);  // "MAPPED"

// Placements that need a GPU: DEVICE and HOST_PINNED. The layers of a rank are either all on its GPU's side or all not.
inline bool IsOnGpu(Placement placement) {
  return placement == Placement::kDevice || placement == Placement::kHostPinned;
}

// How ranks reach their GPUs (gpu_backend.h), without a word of CUDA here.
class GpuBackend;

// The one that this program was built with; null when it was built without CUDA. In a library of its own.
GpuBackend* BuiltInGpu();

// What a combine mode can deliver: ALL_REDUCE_BF16 serves bf16 only.
bool Serves(CombineMode mode, RowForm form);

struct LoadProgress {
  uint64_t bytes_done = 0;
  uint64_t bytes_total = 0;
};

struct EngineOptions {
  CombineMode combine = CombineMode::kOwnerGather;
  Placement placement = Placement::kMapped;
  std::vector<Placement> layer_placements;  // [layers], instead of `placement`; empty: that for all
  RepeatedRows repeated_rows = RepeatedRows::kDefault;
  uint64_t round_rows_max = 65536;  // rows of one round, all blocks together
  uint64_t reply_bytes = 0;         // of Engine::reply_memory, where ranks can share it; 0: none
  // Threads of a rank that gather from HOST or MAPPED, its engine thread included: [1, 256]; 0: half of its share of
  // the processors, from 1 to 8.
  int gather_threads = 0;
  absl::Duration round_timeout = absl::Seconds(10);   // a round not finished by then is lost, and with it the job
  absl::Duration heartbeat = absl::Seconds(1);        // how often the front end promises a round or a Heartbeat
  absl::Duration load_timeout = absl::Hours(1);       // all ranks must have loaded by then
  std::function<void(const LoadProgress&)> progress;  // of this rank's shard, from a loading thread; may be empty
  GpuBackend* gpu = nullptr;                          // for ranks on GPUs; must outlive the engine
  // Lines for the log from any rank's thread of this process, until all is loaded; may be empty.
  std::function<void(const std::string& line)> note;

  Placement PlacementOf(size_t layer_index) const {
    return layer_placements.empty() ? placement : layer_placements[layer_index];
  }
  bool OnGpu() const { return IsOnGpu(PlacementOf(0)); }
};

// Rounds that may be begun and not finished.
inline constexpr int kRoundsInFlightMax = 2;

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

// Bytes for replies. `owner` keeps them, also when the engine is gone; null: they stay until the job goes.
struct ReplyMemory {
  absl::Span<std::byte> bytes;
  std::shared_ptr<const void> owner;
};

// The front end's handle on all ranks. Engine thread only, but for rounds where serves_any_thread says so.
class Engine {
 public:
  virtual ~Engine() = default;

  // One round: fills every block's `out`. Zero blocks and empty blocks are ordinary. Every rank takes part.
  //   INVALID_ARGUMENT  an id >= rows, more rows than round_rows_max, a form the mode does not serve; nothing was
  //   moved. DATA_LOSS         a table file changed under a rank; the contents of `out` are undefined, later rounds may
  //   succeed. UNAVAILABLE       a rank was lost or did not answer within round_timeout: the job must end (Job::Abort).
  virtual absl::Status Gather(absl::Span<const RowBlock> blocks) = 0;

  // The same in two halves, so that the copy-out of one round goes on while the next one gathers. Begin returns when
  // the ranks have done their parts; the blocks' `out` are filled, in order of Begin, once Finish is OK, and must stay
  // until then. At most rounds_in_flight_max() rounds are begun and not finished. An error of either ends its round,
  // and after one of Begin no Finish follows. Between a Begin and its Finish, Gather must not be called.
  virtual absl::Status Begin(absl::Span<const RowBlock> blocks) { return Gather(blocks); }
  virtual absl::Status Finish() { return absl::OkStatus(); }
  virtual int rounds_in_flight_max() const { return 1; }

  // Whether rounds may come from any thread, one at a time: they wait for no rank, no device and no file.
  virtual bool serves_any_thread() const { return false; }

  // Memory in which blocks' `out` are filled without a detour: the ranks of this host write there themselves. Empty
  // where there is none. Its contents are the caller's.
  virtual ReplyMemory reply_memory() const { return {}; }

  // Memory of the caller's in which most blocks' `out` will lie, for ranks that fill it faster when it is page-locked.
  // It must stay as it is while the engine lives; once, before the first round. RESOURCE_EXHAUSTED naming the size.
  virtual absl::Status PinReplyMemory(absl::Span<std::byte> /*memory*/) { return absl::OkStatus(); }

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
