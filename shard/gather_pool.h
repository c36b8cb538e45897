// Threads that share the rows of one gather.

#ifndef ENGRAM_SHARD_GATHER_POOL_H_
#define ENGRAM_SHARD_GATHER_POOL_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

namespace engram {

// Pieces of less than this take longer to hand over than to gather (docs/gather.md).
inline constexpr size_t kPieceRowsMin = 512;
inline constexpr int kGatherThreadsMax = 256;

// How many threads a rank gathers with where nobody said: half of its share of the processors, from 1 to 8, since the
// front end, gRPC and clients need some too. `allowed` are those that this process may run on, `online` those of the
// machine, shared by `local_ranks`. All at least 1.
int DefaultGatherThreads(int allowed, int online, int local_ranks);
// The same, asking the system.
int DefaultGatherThreads(int local_ranks);

// `threads` - 1 threads that wait for work, for a moment awake and then asleep; the caller is the last one. Used by one
// thread at a time. Destruction ends and joins them.
class GatherPool {
 public:
  // `piece_rows_min` > 0. INVALID_ARGUMENT for a number of threads outside of [1, kGatherThreadsMax],
  // RESOURCE_EXHAUSTED when the system does not give so many.
  static absl::StatusOr<std::unique_ptr<GatherPool>> Start(int threads, size_t piece_rows_min = kPieceRowsMin);
  ~GatherPool();
  GatherPool(const GatherPool&) = delete;
  GatherPool& operator=(const GatherPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Into how many pieces `rows` are cut: at most one a thread, none below piece_rows_min rows unless it is the only
  // one.
  size_t PiecesOf(size_t rows) const;

  // Calls work(piece, begin, end) for every piece of [0, rows), in order one behind the other; the first one here, each
  // of the others on a thread of its own. Returns when all have returned.
  void Run(size_t rows, absl::FunctionRef<void(size_t piece, size_t begin, size_t end)> work);

 private:
  using Work = absl::FunctionRef<void(size_t piece, size_t begin, size_t end)>;

  // The caller writes a job and then counts `turn` up; from there on the job is the worker's until it has counted
  // `pending_` down.
  struct alignas(64) Worker {
    std::atomic<uint32_t> turn{0};
    const Work* work = nullptr;  // null: leave
    size_t piece = 0;
    size_t begin = 0;
    size_t end = 0;
    std::thread thread;
  };

  explicit GatherPool(size_t piece_rows_min) : piece_rows_min_(piece_rows_min) {}

  void HandOver(Worker& worker);
  void Serve(Worker& worker);

  const size_t piece_rows_min_;
  std::vector<std::unique_ptr<Worker>> workers_;  // constant after Start
  std::atomic<uint32_t> pending_{0};              // pieces of other threads that are not done
};

}  // namespace engram

#endif  // ENGRAM_SHARD_GATHER_POOL_H_
