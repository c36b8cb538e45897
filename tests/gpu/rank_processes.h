// Ranks as processes of this host, forked and waited for: GPUs may then be shared, which NCCL refuses between threads.

#ifndef ENGRAM_TESTS_GPU_RANK_PROCESSES_H_
#define ENGRAM_TESTS_GPU_RANK_PROCESSES_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "shard/collective.h"

namespace engram {

// How one rank ended.
struct RankExit {
  int rank = 0;
  bool ok = false;     // by itself, with code 0
  std::string how;     // "exit code 3", "signal 9", "still running after 30s: killed"
  std::string output;  // what it wrote to stdout and stderr
};

// Forks `ranks` processes, runs `body` in each with its end of a SocketCollective, and returns when all have ended: its
// value is the exit code, an exception is 3 and its text. Whoever is not done after `limit` is killed, and all are when
// this process dies. [ranks]. UNAVAILABLE, RESOURCE_EXHAUSTED when they cannot be started.
//
// Call it from a process that has one thread and has not used CUDA: a forked process can use it only if nobody did
// before. Statics and buffers are the parent's as they were; destructors of statics do not run.
absl::StatusOr<std::vector<RankExit>> RunRankProcesses(int ranks, absl::Duration limit,
                                                       const std::function<int(Collective&)>& body);

// What went wrong, with the output of those ranks; empty when nothing did.
std::string FailuresOf(const std::vector<RankExit>& exits);

}  // namespace engram

#endif  // ENGRAM_TESTS_GPU_RANK_PROCESSES_H_
