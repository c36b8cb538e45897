// The runtime's calls about streams and events.

#include <memory>

#include "tests/gpu/double/machine.h"

using namespace engram;               // NOLINT: what follows is CUDA's own interface
using namespace engram::cuda_double;  // NOLINT

namespace {

// Only looked at from outside the stream that captures.
cudaError_t CheckIdleCapture(const std::shared_ptr<Stream>& stream) {
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  return stream->capture != nullptr ? cudaErrorStreamCaptureUnsupported : cudaSuccess;
}

// Runs on the stream.
void AwaitMark(const std::shared_ptr<Mark>& mark) {
  Machine& machine = TheMachine();
  MutexLock lock(machine.mu);
  while (!mark->reached) machine.changed.WaitFor(machine.mu, absl::Seconds(1));
}

void Reach(const std::shared_ptr<Mark>& mark) {
  Machine& machine = TheMachine();
  MutexLock lock(machine.mu);
  mark->reached = true;
  mark->time = std::chrono::steady_clock::now();
  machine.changed.NotifyAll();
}

}  // namespace

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int /*flags*/) {
  Machine& machine = TheMachine();
  MutexLock lock(machine.mu);
  if (const cudaError_t failure = CurrentFailure(machine); failure != cudaSuccess) return Remember(failure);
  if (FailsAcquisition(machine)) return Remember(cudaErrorMemoryAllocation);
  *stream = StartStream(machine);
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  Machine& machine = TheMachine();
  MutexLock lock(machine.mu);
  const std::shared_ptr<Stream> found = FindStream(machine, stream);
  if (found == nullptr) return Remember(cudaErrorInvalidResourceHandle);
  found->destroyed = true;
  machine.changed.NotifyAll();
  return Remember(FailureOf(machine, found->device));
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  Machine& machine = TheMachine();
  MutexLock lock(machine.mu);
  const std::shared_ptr<Stream> found = FindStream(machine, stream);
  if (const cudaError_t error = CheckIdleCapture(found); error != cudaSuccess) return Remember(error);
  AwaitStream(machine, found);
  return Remember(FailureOf(machine, found->device));
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  Machine& machine = TheMachine();
  MutexLock lock(machine.mu);
  const std::shared_ptr<Stream> found = FindStream(machine, stream);
  if (const cudaError_t error = CheckIdleCapture(found); error != cudaSuccess) return Remember(error);
  Ask(machine);
  if (const cudaError_t failure = FailureOf(machine, found->device); failure != cudaSuccess) return Remember(failure);
  return Remember(found->done == found->enqueued ? cudaSuccess : cudaErrorNotReady);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int /*flags*/) {
  Machine& machine = TheMachine();
  MutexLock lock(machine.mu);
  const std::shared_ptr<Stream> found = FindStream(machine, stream);
  const Event* waited = Find(machine.events, event);
  if (waited == nullptr) return Remember(cudaErrorInvalidResourceHandle);
  if (const cudaError_t error = CheckIdleCapture(found); error != cudaSuccess) return Remember(error);
  if (waited->mark != nullptr)
    Enqueue(
        machine, *found, [mark = waited->mark] { AwaitMark(mark); }, true);
  return Remember(FailureOf(machine, found->device));
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int /*flags*/) {
  Machine& machine = TheMachine();
  MutexLock lock(machine.mu);
  if (const cudaError_t failure = CurrentFailure(machine); failure != cudaSuccess) return Remember(failure);
  if (FailsAcquisition(machine)) return Remember(cudaErrorMemoryAllocation);
  *event = NewHandle<cudaEvent_t>(machine);
  machine.events[*event] = {CurrentDevice(), nullptr};
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  Machine& machine = TheMachine();
  MutexLock lock(machine.mu);
  const Event* found = Find(machine.events, event);
  if (found == nullptr) return Remember(cudaErrorInvalidResourceHandle);
  const int device = found->device;
  machine.events.erase(event);
  return Remember(FailureOf(machine, device));
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  Machine& machine = TheMachine();
  MutexLock lock(machine.mu);
  const std::shared_ptr<Stream> found = FindStream(machine, stream);
  Event* recorded = Find(machine.events, event);
  if (const cudaError_t error = CheckIdleCapture(found); error != cudaSuccess) return Remember(error);
  if (recorded == nullptr || recorded->device != found->device) return Remember(cudaErrorInvalidResourceHandle);
  recorded->mark = std::make_shared<Mark>();
  recorded->mark->device = found->device;
  Enqueue(
      machine, *found, [mark = recorded->mark] { Reach(mark); }, true);
  return Remember(FailureOf(machine, found->device));
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  Machine& machine = TheMachine();
  MutexLock lock(machine.mu);
  const Event* found = Find(machine.events, event);
  if (found == nullptr) return Remember(cudaErrorInvalidResourceHandle);
  Ask(machine);
  if (const cudaError_t failure = FailureOf(machine, found->device); failure != cudaSuccess) return Remember(failure);
  return Remember(found->mark == nullptr || found->mark->reached ? cudaSuccess : cudaErrorNotReady);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  Machine& machine = TheMachine();
  MutexLock lock(machine.mu);
  const Event* found = Find(machine.events, event);
  if (found == nullptr) return Remember(cudaErrorInvalidResourceHandle);
  const int device = found->device;
  const std::shared_ptr<Mark> mark = found->mark;
  Ask(machine);
  while (mark != nullptr && !mark->reached) machine.changed.WaitFor(machine.mu, absl::Seconds(1));
  return Remember(FailureOf(machine, device));
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  Machine& machine = TheMachine();
  MutexLock lock(machine.mu);
  const Event* first = Find(machine.events, begin);
  const Event* last = Find(machine.events, end);
  const bool known = first != nullptr && last != nullptr && first->mark != nullptr && last->mark != nullptr;
  if (!known || first->device != last->device) return Remember(cudaErrorInvalidResourceHandle);
  if (!first->mark->reached || !last->mark->reached) return Remember(cudaErrorNotReady);
  *milliseconds = std::chrono::duration<float, std::milli>(last->mark->time - first->mark->time).count();
  return cudaSuccess;
}
