// The state behind the double: devices, memory, streams, events. Private to this folder.

#ifndef ENGRAM_TESTS_GPU_DOUBLE_MACHINE_H_
#define ENGRAM_TESTS_GPU_DOUBLE_MACHINE_H_

#include <nccl.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/mutex.h"
#include "tests/gpu/double/cuda_double.h"

namespace engram::cuda_double {

enum class Origin { kDevice, kPinned, kRegistered };

// One allocation, or one registered range. The first two kinds own `block`: red zones around the bytes.
struct Memory {
  Origin origin = Origin::kDevice;
  int device = 0;  // of kDevice; else the one that was current
  uint8_t* data = nullptr;
  uint64_t bytes = 0;
  uint8_t* block = nullptr;
};

struct Operation {
  std::function<void()> run;
  int64_t number = 0;
  bool fails = false;    // the plan's failed operation
  bool control = false;  // runs on a failed device too, lest others wait for it
  std::chrono::steady_clock::time_point due;
};

// What an event stands for since it was recorded last.
struct Mark {
  int device = 0;
  bool reached = false;
  std::chrono::steady_clock::time_point time;
};

struct Event {
  int device = 0;
  std::shared_ptr<Mark> mark;  // null: never recorded
};

struct Graph {
  int device = 0;
  std::vector<std::function<void()>> operations;
};

struct Stream {
  cudaStream_t handle = nullptr;
  int device = 0;
  std::deque<Operation> queue;
  uint64_t enqueued = 0;
  uint64_t done = 0;
  bool destroyed = false;          // unknown to callers, and gone when its queue is empty
  std::shared_ptr<Graph> capture;  // null: not capturing
};

struct Device {
  cudaError_t failure = cudaSuccess;  // once failed, failed for good
  uint64_t used = 0;
};

struct Communicator;  // nccl_double.h
struct Group;

// One lock for all: workers wait in the middle of operations for each other.
struct Machine {
  Mutex mu;
  CondVar changed;

  Plan plan ABSL_GUARDED_BY(mu);
  bool held ABSL_GUARDED_BY(mu) = false;
  std::vector<Device> devices ABSL_GUARDED_BY(mu) = std::vector<Device>(8);
  int64_t acquisitions ABSL_GUARDED_BY(mu) = 0;
  int64_t operations ABSL_GUARDED_BY(mu) = 0;
  int64_t asked ABSL_GUARDED_BY(mu) = 0;  // operations up to this number begin at once
  int workers ABSL_GUARDED_BY(mu) = 0;
  uintptr_t handles ABSL_GUARDED_BY(mu) = 0;  // never used twice: a stale one is always unknown
  std::vector<std::string> faults ABSL_GUARDED_BY(mu);

  std::map<uintptr_t, Memory> memory ABSL_GUARDED_BY(mu);
  std::deque<Memory> freed ABSL_GUARDED_BY(mu);
  std::map<cudaStream_t, std::shared_ptr<Stream>> streams ABSL_GUARDED_BY(mu);
  std::map<cudaEvent_t, Event> events ABSL_GUARDED_BY(mu);
  std::map<cudaGraph_t, std::shared_ptr<Graph>> graphs ABSL_GUARDED_BY(mu);
  std::map<cudaGraphExec_t, std::shared_ptr<Graph>> executables ABSL_GUARDED_BY(mu);
  std::map<ncclComm_t, std::shared_ptr<Communicator>> communicators ABSL_GUARDED_BY(mu);
  std::map<std::string, std::shared_ptr<Group>> groups ABSL_GUARDED_BY(mu);  // by unique id
};

// Never destroyed: workers may outlive main().
Machine& TheMachine();

// Of the calling thread.
int CurrentDevice();
void SetCurrentDevice(int device);
// Remembers an error for cudaGetLastError and passes it on: every call of the runtime returns through this.
cudaError_t Remember(cudaError_t error);
cudaError_t LastError(bool clear);

// The failure of a device; cudaErrorNoDevice when there is no such one.
cudaError_t FailureOf(Machine& machine, int device) ABSL_EXCLUSIVE_LOCKS_REQUIRED(machine.mu);
cudaError_t CurrentFailure(Machine& machine) ABSL_EXCLUSIVE_LOCKS_REQUIRED(machine.mu);
// Counts an acquisition; true for the one that the plan fails.
bool FailsAcquisition(Machine& machine) ABSL_EXCLUSIVE_LOCKS_REQUIRED(machine.mu);

template <typename Handle>
Handle NewHandle(Machine& machine) ABSL_EXCLUSIVE_LOCKS_REQUIRED(machine.mu) {
  return reinterpret_cast<Handle>(machine.handles += 16);
}

// The entry of a handle in one of the maps above; null when there is none.
template <typename Map>
typename Map::mapped_type* Find(Map& map, typename Map::key_type handle) {
  const auto found = map.find(handle);
  return found == map.end() ? nullptr : &found->second;
}

// --- Streams (stream.cc).

// A new stream of the current device, with its worker.
cudaStream_t StartStream(Machine& machine) ABSL_EXCLUSIVE_LOCKS_REQUIRED(machine.mu);
// Null when unknown or destroyed.
std::shared_ptr<Stream> FindStream(Machine& machine, cudaStream_t handle) ABSL_EXCLUSIVE_LOCKS_REQUIRED(machine.mu);
// Into the queue, or into the graph being captured. `control`: as in Operation.
void Enqueue(Machine& machine, Stream& stream, std::function<void()> run, bool control = false)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(machine.mu);
// Lets all that is queued now begin: somebody waits.
void Ask(Machine& machine) ABSL_EXCLUSIVE_LOCKS_REQUIRED(machine.mu);
void AwaitStream(Machine& machine, std::shared_ptr<Stream> stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(machine.mu);
// All streams of a device, destroyed ones too.
void AwaitDevice(Machine& machine, int device) ABSL_EXCLUSIVE_LOCKS_REQUIRED(machine.mu);

// --- Memory (memory.cc).

// Null without enough memory.
uint8_t* Allocate(Machine& machine, Origin origin, uint64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(machine.mu);
// Checks the red zones, and keeps the block for a while, to see whether somebody still writes to it.
void Release(Machine& machine, Memory memory) ABSL_EXCLUSIVE_LOCKS_REQUIRED(machine.mu);
// The allocation that holds the first of these bytes; null for ordinary host memory.
const Memory* Holder(Machine& machine, const void* data) ABSL_EXCLUSIVE_LOCKS_REQUIRED(machine.mu);
bool Holds(const Memory& memory, const void* data, uint64_t bytes);
// Adds what the red zones and the freed blocks tell to machine.faults.
void LookForStrayWrites(Machine& machine) ABSL_EXCLUSIVE_LOCKS_REQUIRED(machine.mu);
void ForgetMemory(Machine& machine) ABSL_EXCLUSIVE_LOCKS_REQUIRED(machine.mu);

}  // namespace engram::cuda_double

#endif  // ENGRAM_TESTS_GPU_DOUBLE_MACHINE_H_
