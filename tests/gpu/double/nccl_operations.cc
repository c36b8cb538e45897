// NCCL's calls that move bytes, and their groups.

#include <algorithm>
#include <memory>
#include <utility>

#include "tests/gpu/double/nccl_double.h"

using namespace engram;               // NOLINT: what follows is NCCL's own interface
using namespace engram::cuda_double;  // NOLINT

namespace {

// The group that this thread has open.
struct OpenGroup {
  int depth = 0;
  ncclResult_t error = ncclSuccess;
  std::vector<Batch> batches;
};
thread_local OpenGroup open_group;

// Null, with `error` set, where the call cannot be made.
std::shared_ptr<Communicator> CheckCall(Machine& machine, ncclComm_t comm, cudaStream_t stream, ncclResult_t& error)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(machine.mu) {
  const std::shared_ptr<Communicator>* found = Find(machine.communicators, comm);
  error = ncclInvalidArgument;
  if (found == nullptr) return nullptr;
  const Communicator& communicator = **found;
  const std::shared_ptr<Stream> on = FindStream(machine, stream);
  const bool busy = !communicator.postponed.empty() || communicator.group->joined != communicator.group->ranks;
  error = communicator.error;
  if (busy || communicator.finalized) error = ncclInvalidUsage;
  if (on == nullptr || on->device != communicator.device || on->capture != nullptr) error = ncclUnhandledCudaError;
  if (FailureOf(machine, communicator.device) != cudaSuccess) error = ncclUnhandledCudaError;
  return error == ncclSuccess ? *found : nullptr;
}

ncclResult_t CheckData(Machine& machine, int device, const void* data, size_t count, ncclDataType_t type)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(machine.mu) {
  const uint64_t size = SizeOf(type);
  if (size == 0 || reinterpret_cast<uintptr_t>(data) % size != 0) return ncclInvalidArgument;
  if (count == 0) return ncclSuccess;
  const Memory* memory = Holder(machine, data);
  const bool reached = memory != nullptr && (memory->origin != Origin::kDevice || memory->device == device);
  return reached && Holds(*memory, data, count * size) ? ncclSuccess : ncclInvalidArgument;
}

ncclResult_t Submit(Machine& machine, Batch batch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(machine.mu) {
  Communicator& communicator = *batch.communicator;
  const Plan plan = machine.plan;
  const int64_t number = ++communicator.batches;
  batch.stalls = communicator.rank == plan.stalled_rank && number >= plan.stalled_from;
  batch.breaks = communicator.rank == plan.broken_rank && number == plan.broken_at;
  for (Reduction& reduction : batch.reductions) reduction.number = ++communicator.reductions;
  if (communicator.blocking) {
    EnqueueBatch(machine, std::move(batch));
    return communicator.error;
  }
  communicator.polls = 1;
  communicator.postponed.push_back(std::move(batch));
  return ncclInProgress;
}

// Into the open group, or at once.
ncclResult_t Take(Machine& machine, Batch batch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(machine.mu) {
  if (open_group.depth == 0) return Submit(machine, std::move(batch));
  auto& batches = open_group.batches;
  const auto same = [&batch](const Batch& other) { return other.communicator == batch.communicator; };
  const auto found = std::find_if(batches.begin(), batches.end(), same);
  if (found == batches.end()) {
    batches.push_back(std::move(batch));
    return ncclSuccess;
  }
  if (found->stream != batch.stream) return ncclInvalidUsage;
  found->reductions.insert(found->reductions.end(), batch.reductions.begin(), batch.reductions.end());
  found->sends.insert(found->sends.end(), batch.sends.begin(), batch.sends.end());
  found->receives.insert(found->receives.end(), batch.receives.begin(), batch.receives.end());
  return ncclSuccess;
}

// A group with a failed call in it fails.
ncclResult_t Keep(ncclResult_t result) {
  const bool failed = result != ncclSuccess && result != ncclInProgress;
  if (failed && open_group.depth > 0 && open_group.error == ncclSuccess) open_group.error = result;
  return result;
}

ncclResult_t Move(bool send, void* data, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                  cudaStream_t stream) {
  Machine& machine = TheMachine();
  MutexLock lock(machine.mu);
  ncclResult_t error = ncclSuccess;
  Batch batch;
  batch.communicator = CheckCall(machine, comm, stream, error);
  batch.stream = stream;
  if (batch.communicator == nullptr) return error;
  error = CheckData(machine, batch.communicator->device, data, count, type);
  if (peer < 0 || peer >= batch.communicator->group->ranks) error = ncclInvalidArgument;
  if (error != ncclSuccess) return error;
  (send ? batch.sends : batch.receives).push_back({data, count * SizeOf(type), peer});
  return Take(machine, std::move(batch));
}

ncclResult_t Reduce(const Reduction& reduction, ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  Machine& machine = TheMachine();
  MutexLock lock(machine.mu);
  ncclResult_t error = ncclSuccess;
  Batch batch;
  batch.communicator = CheckCall(machine, comm, stream, error);
  batch.stream = stream;
  if (batch.communicator == nullptr) return error;
  if (op != ncclSum) return ncclInvalidArgument;
  for (const void* data : {reduction.from, static_cast<const void*>(reduction.to)}) {
    error = CheckData(machine, batch.communicator->device, data, reduction.count, reduction.type);
    if (error != ncclSuccess) return error;
  }
  batch.reductions.push_back(reduction);
  return Take(machine, std::move(batch));
}

}  // namespace

ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream) {
  return Keep(Reduce({from, to, count, type, 0}, op, comm, stream));
}

ncclResult_t ncclSend(const void* from, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return Keep(Move(true, const_cast<void*>(from), count, type, peer, comm, stream));
}

ncclResult_t ncclRecv(void* to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream) {
  return Keep(Move(false, to, count, type, peer, comm, stream));
}

ncclResult_t ncclGroupStart() {
  ++open_group.depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (open_group.depth == 0) return ncclInvalidUsage;
  if (--open_group.depth > 0) return ncclSuccess;
  const OpenGroup group = std::exchange(open_group, OpenGroup());
  if (group.error != ncclSuccess) return group.error;
  Machine& machine = TheMachine();
  MutexLock lock(machine.mu);
  ncclResult_t result = ncclSuccess;
  for (const Batch& batch : group.batches) {
    if (const ncclResult_t one = Submit(machine, batch); one != ncclSuccess) result = one;
  }
  return result;
}
