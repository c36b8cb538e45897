// The runtime's calls about captured graphs: what a stream would have run, kept to be run again and again.

#include <memory>
#include <utility>

#include "tests/gpu/double/machine.h"

using namespace engram;               // NOLINT: what follows is CUDA's own interface
using namespace engram::cuda_double;  // NOLINT

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode /*mode*/) {
  Machine& machine = TheMachine();
  MutexLock lock(machine.mu);
  const std::shared_ptr<Stream> found = FindStream(machine, stream);
  if (found == nullptr) return Remember(cudaErrorInvalidResourceHandle);
  if (found->capture != nullptr) return Remember(cudaErrorIllegalState);
  found->capture = std::make_shared<Graph>();
  found->capture->device = found->device;
  return Remember(FailureOf(machine, found->device));
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  Machine& machine = TheMachine();
  MutexLock lock(machine.mu);
  const std::shared_ptr<Stream> found = FindStream(machine, stream);
  if (found == nullptr) return Remember(cudaErrorInvalidResourceHandle);
  if (found->capture == nullptr) return Remember(cudaErrorIllegalState);
  const std::shared_ptr<Graph> captured = std::move(found->capture);
  found->capture = nullptr;
  *graph = nullptr;
  if (const cudaError_t failure = FailureOf(machine, found->device); failure != cudaSuccess) return Remember(failure);
  if (FailsAcquisition(machine)) return Remember(cudaErrorMemoryAllocation);
  *graph = NewHandle<cudaGraph_t>(machine);
  machine.graphs[*graph] = captured;
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long /*flags*/) {
  Machine& machine = TheMachine();
  MutexLock lock(machine.mu);
  const std::shared_ptr<Graph>* found = Find(machine.graphs, graph);
  if (found == nullptr) return Remember(cudaErrorInvalidValue);
  if (const cudaError_t failure = FailureOf(machine, (*found)->device); failure != cudaSuccess) {
    return Remember(failure);
  }
  if (FailsAcquisition(machine)) return Remember(cudaErrorMemoryAllocation);
  *executable = NewHandle<cudaGraphExec_t>(machine);
  machine.executables[*executable] = *found;
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  Machine& machine = TheMachine();
  MutexLock lock(machine.mu);
  const std::shared_ptr<Graph>* found = Find(machine.executables, executable);
  const std::shared_ptr<Stream> on = FindStream(machine, stream);
  if (found == nullptr || on == nullptr) return Remember(cudaErrorInvalidValue);
  const std::shared_ptr<Graph> graph = *found;
  if (graph->device != on->device) return Remember(cudaErrorInvalidResourceHandle);
  if (const cudaError_t failure = FailureOf(machine, on->device); failure != cudaSuccess) return Remember(failure);
  Enqueue(machine, *on, [graph] {
    for (const std::function<void()>& run : graph->operations) run();
  });
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  Machine& machine = TheMachine();
  MutexLock lock(machine.mu);
  return Remember(machine.graphs.erase(graph) == 1 ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  Machine& machine = TheMachine();
  MutexLock lock(machine.mu);
  return Remember(machine.executables.erase(executable) == 1 ? cudaSuccess : cudaErrorInvalidValue);
}
