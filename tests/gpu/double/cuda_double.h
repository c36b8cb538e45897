// What tests say to the CUDA and NCCL double: which machine it plays, what fails in it, and what went wrong.
//
// The double stands in for the CUDA runtime and for NCCL where there is no GPU: cuda_runtime_api.h and nccl.h of this
// folder declare the calls that shard/gpu/ makes, and behave as the real ones do. Device memory is host memory with
// an owner, poison and red zones; a stream is a queue with a worker thread; ranks are threads.

#ifndef ENGRAM_TESTS_GPU_DOUBLE_CUDA_DOUBLE_H_
#define ENGRAM_TESTS_GPU_DOUBLE_CUDA_DOUBLE_H_

#include <cuda_runtime_api.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace engram::cuda_double {

// Fresh device memory and fresh pinned memory hold this byte, freed memory the other.
inline constexpr uint8_t kFreshByte = 0xA5;
inline constexpr uint8_t kFreedByte = 0xDD;

// The machine, and its failures. Numbers count from 1 since Install; 0 and rank -1: never.
struct Plan {
  int devices = 8;
  uint64_t device_bytes = uint64_t{1} << 30;  // of each device; cudaMemGetInfo's total

  int64_t fail_acquisition = 0;  // this memory, registration, stream, event, graph or communicator: out of memory
  int64_t fail_operation = 0;    // this operation put on a stream ends in operation_error, and so does its device
  cudaError_t operation_error = cudaErrorIllegalAddress;

  int stalled_rank = -1;     // from its NCCL operation number stalled_from on it takes no part any more
  int64_t stalled_from = 1;  // a collective or a group of sends and receives; 0: it does not even join
  int broken_rank = -1;  // its operation number broken_at ends in an asynchronous ncclRemoteError, and never returns
  int64_t broken_at = 1;

  // Nobody asking, an operation begins so late: results read without synchronisation are nearly always not there.
  std::chrono::milliseconds lateness{2};
};

// One failure drawn from a seed: each of the kinds above, or none, early in the run.
Plan RandomPlan(uint64_t seed, int ranks);

// Starts a machine over, from one thread. What is left of the one before is forgotten: its operations run to their end
// first, its communicators are aborted.
void Install(const Plan& plan);

// Acquisitions and operations since Install.
int64_t Acquisitions();
int64_t Operations();

// What is still held: memory, registrations, streams, events, graphs, communicators. A line each, empty when nothing.
std::vector<std::string> Leaks();

// Uses that real hardware may let pass in silence: bytes written outside an allocation or after it was freed,
// collectives whose ranks disagree. A line each. Looks at all memory, also at what is still held.
std::vector<std::string> Faults();

// While held, no operation begins (a wait for one does not return then).
void HoldStreams(bool held);

// --- For those who play kernels.

// Puts a function on a stream, as a kernel launch does. Errors are as after a launch: cudaGetLastError() tells an
// unknown stream, or one that is not of the current device.
void EnqueueOnStream(cudaStream_t stream, std::function<void()> run);

// Inside such a function: ends its device with this error, as a kernel does that reads what it may not.
void FailOperation(cudaError_t error);

// Whether kernels of a device may touch these bytes: they lie in one living allocation of that device, or in pinned
// or registered host memory. 0 bytes always.
bool CanAccess(int device, const void* data, uint64_t bytes);

// The device whose stream runs the calling function; -1 outside of one.
int OperationDevice();

}  // namespace engram::cuda_double

#endif  // ENGRAM_TESTS_GPU_DOUBLE_CUDA_DOUBLE_H_
