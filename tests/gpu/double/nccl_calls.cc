// NCCL's calls about communicators.

#include <cstring>
#include <memory>
#include <string>

#include "tests/gpu/double/nccl_double.h"

using namespace engram;               // NOLINT: what follows is NCCL's own interface
using namespace engram::cuda_double;  // NOLINT

namespace {

std::string KeyOf(const ncclUniqueId& id) { return std::string(id.internal, sizeof(id.internal)); }

ncclResult_t CheckJoin(Machine& machine, const Group& group, int ranks, int rank)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(machine.mu) {
  if (ranks < 1 || rank < 0 || rank >= ranks) return ncclInvalidArgument;
  if (group.ranks != 0 && group.ranks != ranks) return ncclInvalidArgument;
  for (const auto& [other, member] : group.members) {
    if (other == rank || member->device == CurrentDevice()) return ncclInvalidUsage;  // also: two ranks on one device
  }
  if (CurrentFailure(machine) != cudaSuccess || FailsAcquisition(machine)) return ncclUnhandledCudaError;
  return ncclSuccess;
}

bool AllJoined(const Communicator& communicator) { return communicator.group->joined == communicator.group->ranks; }

// What goes on in NCCL's own threads in a communicator that does not block, done when it is asked about.
ncclResult_t Progress(Machine& machine, Communicator& communicator) ABSL_EXCLUSIVE_LOCKS_REQUIRED(machine.mu) {
  if (communicator.error != ncclSuccess) return communicator.error;
  if (!AllJoined(communicator) || communicator.polls-- > 0) return ncclInProgress;
  communicator.polls = 0;
  for (Batch& batch : communicator.postponed) EnqueueBatch(machine, std::move(batch));
  communicator.postponed.clear();
  return communicator.error;
}

// Forgets a communicator once none of its operations runs any more.
void Close(Machine& machine, ncclComm_t handle) ABSL_EXCLUSIVE_LOCKS_REQUIRED(machine.mu) {
  const std::shared_ptr<Communicator> communicator = machine.communicators[handle];
  while (communicator->running > 0) machine.changed.WaitFor(machine.mu, absl::Seconds(1));
  communicator->postponed.clear();
  communicator->group->members.erase(communicator->rank);  // they point at each other
  machine.communicators.erase(handle);
}

}  // namespace

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  static constexpr const char* kTexts[] = {"no error",
                                           "unhandled cuda error",
                                           "unhandled system error",
                                           "internal error",
                                           "invalid argument",
                                           "invalid usage",
                                           "remote process exited or there was a network error",
                                           "NCCL operation in progress"};
  return result >= ncclSuccess && result <= ncclInProgress ? kTexts[result] : "unknown result code";
}

const char* ncclGetLastError(ncclComm_t /*comm*/) { return ""; }

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  Machine& machine = TheMachine();
  MutexLock lock(machine.mu);
  *id = {};
  machine.handles += 16;
  std::memcpy(id->internal, &machine.handles, sizeof(machine.handles));
  machine.groups[KeyOf(*id)] = std::make_shared<Group>();
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config) {
  Machine& machine = TheMachine();
  MutexLock lock(machine.mu);
  *comm = nullptr;
  const std::shared_ptr<Group>* found = Find(machine.groups, KeyOf(id));
  if (found == nullptr) return ncclInvalidArgument;
  const std::shared_ptr<Group> group = *found;
  if (const ncclResult_t result = CheckJoin(machine, *group, ranks, rank); result != ncclSuccess) return result;
  group->ranks = ranks;
  const auto mine = std::make_shared<Communicator>();
  mine->group = group;
  mine->rank = rank;
  mine->device = CurrentDevice();
  mine->blocking = config == nullptr || config->blocking != 0;
  group->members[rank] = mine;
  *comm = NewHandle<ncclComm_t>(machine);
  machine.communicators[*comm] = mine;
  if (machine.plan.stalled_rank != rank || machine.plan.stalled_from > 0) ++group->joined;
  machine.changed.NotifyAll();
  if (!mine->blocking) return ncclInProgress;
  while (!AllJoined(*mine) && !mine->aborted) machine.changed.WaitFor(machine.mu, absl::Seconds(1));
  return mine->error;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  Machine& machine = TheMachine();
  MutexLock lock(machine.mu);
  const std::shared_ptr<Communicator>* found = Find(machine.communicators, comm);
  if (found == nullptr) return ncclInvalidArgument;
  (*found)->finalized = true;
  (*found)->polls = 1;
  return (*found)->blocking ? (*found)->error : ncclInProgress;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  Machine& machine = TheMachine();
  MutexLock lock(machine.mu);
  const std::shared_ptr<Communicator>* found = Find(machine.communicators, comm);
  if (found == nullptr) return ncclInvalidArgument;
  Close(machine, comm);
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  Machine& machine = TheMachine();
  MutexLock lock(machine.mu);
  const std::shared_ptr<Communicator>* found = Find(machine.communicators, comm);
  if (found == nullptr) return ncclInvalidArgument;
  (*found)->aborted = true;
  machine.changed.NotifyAll();
  Close(machine, comm);
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  Machine& machine = TheMachine();
  MutexLock lock(machine.mu);
  const std::shared_ptr<Communicator>* found = Find(machine.communicators, comm);
  if (found == nullptr) return ncclInvalidArgument;
  *error = Progress(machine, **found);
  return ncclSuccess;
}
