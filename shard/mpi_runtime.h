// The life of MPI in this process. No MPI type appears here.

#ifndef ENGRAM_SHARD_MPI_RUNTIME_H_
#define ENGRAM_SHARD_MPI_RUNTIME_H_

#include <cstddef>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "shard/collective.h"

namespace engram {

struct MpiOptions {
  absl::Duration join_timeout = absl::Minutes(2);
  absl::Duration finish_timeout = absl::Seconds(10);
  // Of one MPI message, whose count is an int. A multiple of 8.
  size_t part_bytes_max = size_t{1} << 30;
  // Ranks of the same node wake each other and say what is small through shared memory. Without it they poll and speak
  // by MPI alone, as ranks of different nodes do.
  bool share_memory = true;
};

// Initialises MPI on construction, once in a process. Engine thread; Abort from any.
class MpiRuntime {
 public:
  // All launched ranks join. A rank that does not within join_timeout ends this process with exit code 75.
  static absl::StatusOr<std::unique_ptr<MpiRuntime>> Join(const MpiOptions& options);

  // Does not finalise by itself: after a lost rank that would wait for it.
  virtual ~MpiRuntime() = default;

  virtual Collective& collective() = 0;

  // Collective, last: all ranks are done and leave together. Ends the process with exit code 75 after finish_timeout.
  virtual void Finish() = 0;

  // Ends all ranks with this exit code.
  [[noreturn]] static void Abort(int exit_code);
};

}  // namespace engram

#endif  // ENGRAM_SHARD_MPI_RUNTIME_H_
