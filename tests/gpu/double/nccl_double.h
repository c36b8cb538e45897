// NCCL between threads: what a communicator and its ranks hold. Private to this folder.
//
// Ranks meet in the order of their calls. An operation is one function on a stream, which waits there for the other
// ranks, as NCCL's kernels do; only ncclCommAbort ends that wait. Communicators that do not block say ncclInProgress
// after every call, and put the operation on its stream only while they are asked how it goes. All of this is guarded
// by the machine's lock.

#ifndef ENGRAM_TESTS_GPU_DOUBLE_NCCL_DOUBLE_H_
#define ENGRAM_TESTS_GPU_DOUBLE_NCCL_DOUBLE_H_

#include <nccl.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "tests/gpu/double/machine.h"

namespace engram::cuda_double {

struct Reduction {
  const void* from = nullptr;
  void* to = nullptr;
  size_t count = 0;
  ncclDataType_t type = ncclUint8;
  int64_t number = 0;  // among the communicator's reductions
};

struct Transfer {
  void* data = nullptr;
  uint64_t bytes = 0;
  int peer = 0;
};

// One call, or all calls of a group on one communicator.
struct Batch {
  std::shared_ptr<Communicator> communicator;
  cudaStream_t stream = nullptr;
  std::vector<Reduction> reductions;
  std::vector<Transfer> sends;
  std::vector<Transfer> receives;
  bool stalls = false;
  bool breaks = false;
};

// Ranks at the same reduction.
struct Meeting {
  std::vector<Reduction> parts;  // [ranks]
  int arrived = 0;
  bool complete = false;
  bool broken = false;  // a rank left, or they disagree: never completes
};

struct Message {
  Transfer transfer;
  bool taken = false;
};

struct Group {
  int ranks = 0;
  int joined = 0;
  std::map<int, std::shared_ptr<Communicator>> members;                          // by rank
  std::map<int64_t, std::shared_ptr<Meeting>> meetings;                          // by the number of the reduction
  std::map<std::pair<int, int>, std::deque<std::shared_ptr<Message>>> channels;  // from, to
};

struct Communicator {
  std::shared_ptr<Group> group;
  int rank = 0;
  int device = 0;
  bool blocking = true;
  bool aborted = false;
  bool finalized = false;
  ncclResult_t error = ncclSuccess;
  int64_t batches = 0;
  int64_t reductions = 0;
  int running = 0;  // batches that have begun on their stream
  int polls = 0;    // so often ncclCommGetAsyncError still says ncclInProgress
  std::vector<Batch> postponed;
};

uint64_t SizeOf(ncclDataType_t type);  // 0: not moved by the double

// Runs on the stream. Returns when all peers took part, or the communicator was aborted.
void RunBatch(Batch& batch);

// Puts a batch on its stream.
void EnqueueBatch(Machine& machine, Batch batch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(machine.mu);

}  // namespace engram::cuda_double

#endif  // ENGRAM_TESTS_GPU_DOUBLE_NCCL_DOUBLE_H_
