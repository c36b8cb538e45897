// Queues and their workers.

#include <algorithm>
#include <thread>
#include <utility>

#include "tests/gpu/double/machine.h"

namespace engram::cuda_double {
namespace {

thread_local int operation_device = -1;

bool MayBegin(Machine& machine, const Operation& operation) ABSL_EXCLUSIVE_LOCKS_REQUIRED(machine.mu) {
  if (machine.held) return false;
  return operation.number <= machine.asked || std::chrono::steady_clock::now() >= operation.due;
}

// The next operation that may begin. False when the stream is destroyed and empty.
bool Next(Machine& machine, Stream& stream, Operation& operation) ABSL_LOCKS_EXCLUDED(machine.mu) {
  MutexLock lock(machine.mu);
  while (stream.queue.empty() || !MayBegin(machine, stream.queue.front())) {
    if (stream.queue.empty() && stream.destroyed) {
      --machine.workers;
      machine.streams.erase(stream.handle);
      machine.changed.NotifyAll();
      return false;
    }
    if (stream.queue.empty() || machine.held) {
      machine.changed.WaitFor(machine.mu, absl::Seconds(1));
    } else {
      machine.changed.WaitUntil(machine.mu, stream.queue.front().due);
    }
  }
  operation = std::move(stream.queue.front());
  stream.queue.pop_front();
  cudaError_t& failure = machine.devices[static_cast<size_t>(stream.device)].failure;
  if (operation.fails && failure == cudaSuccess) failure = machine.plan.operation_error;
  if (failure != cudaSuccess && !operation.control) operation.run = nullptr;
  return true;
}

void Work(Machine& machine, const std::shared_ptr<Stream>& stream) {
  operation_device = stream->device;
  for (Operation operation; Next(machine, *stream, operation);) {
    if (operation.run) operation.run();
    operation.run = nullptr;  // what it holds goes before the wait for it ends
    MutexLock lock(machine.mu);
    ++stream->done;
    machine.changed.NotifyAll();
  }
}

}  // namespace

int OperationDevice() { return operation_device; }

cudaStream_t StartStream(Machine& machine) {
  const auto stream = std::make_shared<Stream>();
  stream->handle = NewHandle<cudaStream_t>(machine);
  stream->device = CurrentDevice();
  machine.streams[stream->handle] = stream;
  ++machine.workers;
  std::thread([&machine, stream] { Work(machine, stream); }).detach();
  return stream->handle;
}

std::shared_ptr<Stream> FindStream(Machine& machine, cudaStream_t handle) {
  const std::shared_ptr<Stream>* found = Find(machine.streams, handle);
  return found == nullptr || (*found)->destroyed ? nullptr : *found;
}

void Enqueue(Machine& machine, Stream& stream, std::function<void()> run, bool control) {
  if (stream.capture != nullptr) {
    stream.capture->operations.push_back(std::move(run));
    return;
  }
  Operation operation;
  operation.run = std::move(run);
  operation.number = ++machine.operations;
  operation.fails = operation.number == machine.plan.fail_operation;
  operation.control = control;
  operation.due = std::chrono::steady_clock::now() + machine.plan.lateness;
  stream.queue.push_back(std::move(operation));
  ++stream.enqueued;
  machine.changed.NotifyAll();
}

void Ask(Machine& machine) {
  machine.asked = machine.operations;
  machine.changed.NotifyAll();
}

void AwaitStream(Machine& machine, std::shared_ptr<Stream> stream) {
  const uint64_t until = stream->enqueued;
  Ask(machine);
  while (stream->done < until) machine.changed.WaitFor(machine.mu, absl::Seconds(1));
}

void AwaitDevice(Machine& machine, int device) {
  std::vector<std::shared_ptr<Stream>> streams;
  for (const auto& [handle, stream] : machine.streams) {
    if (stream->device == device) streams.push_back(stream);
  }
  for (const std::shared_ptr<Stream>& stream : streams) AwaitStream(machine, stream);
}

void FailOperation(cudaError_t error) {
  Machine& machine = TheMachine();
  MutexLock lock(machine.mu);
  cudaError_t& failure = machine.devices[static_cast<size_t>(operation_device)].failure;
  if (failure == cudaSuccess) failure = error;
}

void EnqueueOnStream(cudaStream_t stream, std::function<void()> run) {
  Machine& machine = TheMachine();
  MutexLock lock(machine.mu);
  const std::shared_ptr<Stream> found = FindStream(machine, stream);
  cudaError_t error = CurrentFailure(machine);
  if (error == cudaSuccess && (found == nullptr || found->device != CurrentDevice())) {
    error = cudaErrorInvalidResourceHandle;
  }
  if (Remember(error) == cudaSuccess) Enqueue(machine, *found, std::move(run));
}

}  // namespace engram::cuda_double
