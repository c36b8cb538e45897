// Threads that bring the rows of a shard from their files to their places, block after block.

#ifndef ENGRAM_SHARD_BLOCK_LOAD_H_
#define ENGRAM_SHARD_BLOCK_LOAD_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/mutex.h"
#include "shard/anonymous_memory.h"
#include "shard/engine.h"
#include "shard/file_rows.h"

namespace engram {

// While one thread waits for the disk, others spread rows and take their first page faults in the places. Those can
// cost more than the reading, in virtual machines above all, and go faster side by side.
inline constexpr uint64_t kLoadThreads = 4;

// Owns its threads and their blocks. Used by one thread. Destruction ends the threads after the blocks at hand.
class BlockLoad {
 public:
  // Begins to load rows `range` (not empty) of `files`, which must outlive this, into host memory; `block_rows` at a
  // time in each of kLoadThreads threads. RESOURCE_EXHAUSTED without memory or threads.
  static absl::StatusOr<std::unique_ptr<BlockLoad>> Start(const std::vector<FileRows>& files, ShardRange range,
                                                          uint64_t block_rows);
  ~BlockLoad();

  // Waits for a block. Returns how many rows have come to their places since the last call; 0 when all had before.
  // The error of FileRows::Read that is first in the order of rows: no further ones are read then.
  absl::StatusOr<uint64_t> AwaitRows();

 private:
  BlockLoad(const std::vector<FileRows>& files, ShardRange range, uint64_t block_rows, AnonymousMemory memory)
      : files_(files), range_(range), block_rows_(block_rows), memory_(std::move(memory)), next_(range.begin) {}

  absl::Status StartThreads();
  // One thread's life. `room`: for a block of any file.
  void Run(std::byte* room);
  // The first row of the next block; none at the end and after failures.
  std::optional<uint64_t> Claim();
  absl::Status LoadBlock(uint64_t first, std::byte* room) const;
  void Report(uint64_t first, absl::Status status);

  uint64_t RowsFrom(uint64_t first) const { return std::min(block_rows_, range_.end - first); }

  const std::vector<FileRows>& files_;
  const ShardRange range_;
  const uint64_t block_rows_;
  const AnonymousMemory memory_;
  std::vector<std::thread> threads_;

  Mutex mu_;
  CondVar reported_;
  uint64_t next_ ABSL_GUARDED_BY(mu_);
  uint64_t rows_ ABSL_GUARDED_BY(mu_) = 0;  // in place, not yet told
  uint64_t running_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t failed_ ABSL_GUARDED_BY(mu_) = UINT64_MAX;  // the first row of the first block that failed
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
  bool is_over_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace engram

#endif  // ENGRAM_SHARD_BLOCK_LOAD_H_
