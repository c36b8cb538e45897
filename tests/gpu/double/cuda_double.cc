#include "tests/gpu/double/cuda_double.h"

#include <random>

#include "absl/strings/str_cat.h"
#include "tests/gpu/double/machine.h"
#include "tests/gpu/double/nccl_double.h"

namespace engram::cuda_double {
namespace {

thread_local int current_device = 0;
thread_local cudaError_t last_error = cudaSuccess;

constexpr const char* kOriginNames[] = {"device", "pinned", "registered"};

}  // namespace

Machine& TheMachine() {
  static Machine* machine = new Machine();
  return *machine;
}

int CurrentDevice() { return current_device; }
void SetCurrentDevice(int device) { current_device = device; }

cudaError_t Remember(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

cudaError_t LastError(bool clear) {
  const cudaError_t error = last_error;
  if (clear) last_error = cudaSuccess;
  return error;
}

cudaError_t FailureOf(Machine& machine, int device) {
  const auto index = static_cast<size_t>(device);
  return index < machine.devices.size() ? machine.devices[index].failure : cudaErrorNoDevice;
}

cudaError_t CurrentFailure(Machine& machine) { return FailureOf(machine, current_device); }

bool FailsAcquisition(Machine& machine) { return ++machine.acquisitions == machine.plan.fail_acquisition; }

Plan RandomPlan(uint64_t seed, int ranks) {
  std::mt19937_64 random(seed);
  const auto number = [&random](int64_t most) { return 1 + static_cast<int64_t>(random() % most); };
  Plan plan;
  switch (random() % 5) {
    case 0:
      plan.fail_acquisition = number(16 * ranks);
      break;
    case 1:
      plan.fail_operation = number(32 * ranks);
      break;
    case 2:
      plan.stalled_rank = static_cast<int>(number(ranks)) - 1;
      plan.stalled_from = number(8);
      break;
    case 3:
      plan.broken_rank = static_cast<int>(number(ranks)) - 1;
      plan.broken_at = number(8);
      break;
    default:
      break;  // a machine where all goes well
  }
  plan.lateness = std::chrono::milliseconds(random() % 3);
  return plan;
}

void Install(const Plan& plan) {
  Machine& machine = TheMachine();
  MutexLock lock(machine.mu);
  machine.held = false;
  for (auto& [handle, stream] : machine.streams) stream->destroyed = true;
  for (auto& [handle, communicator] : machine.communicators) communicator->aborted = true;
  Ask(machine);
  while (machine.workers > 0) machine.changed.WaitFor(machine.mu, absl::Seconds(1));
  ForgetMemory(machine);
  machine.streams.clear();
  machine.events.clear();
  machine.graphs.clear();
  machine.executables.clear();
  machine.faults.clear();
  machine.communicators.clear();
  machine.groups.clear();
  machine.acquisitions = machine.operations = machine.asked = 0;
  machine.plan = plan;
  machine.devices.assign(static_cast<size_t>(plan.devices), Device());
  SetCurrentDevice(0);
  last_error = cudaSuccess;
}

int64_t Acquisitions() {
  Machine& machine = TheMachine();
  MutexLock lock(machine.mu);
  return machine.acquisitions;
}

int64_t Operations() {
  Machine& machine = TheMachine();
  MutexLock lock(machine.mu);
  return machine.operations;
}

std::vector<std::string> Leaks() {
  Machine& machine = TheMachine();
  MutexLock lock(machine.mu);
  std::vector<std::string> leaks;
  for (const auto& [at, memory] : machine.memory) {
    leaks.push_back(absl::StrCat(memory.bytes, " bytes of ", kOriginNames[static_cast<int>(memory.origin)],
                                 " memory, device ", memory.device));
  }
  const auto count = [&leaks](size_t held, const char* what) {
    if (held > 0) leaks.push_back(absl::StrCat(held, " ", what));
  };
  size_t streams = 0;
  for (const auto& [handle, stream] : machine.streams) streams += stream->destroyed ? 0 : 1;
  count(streams, "streams");
  count(machine.events.size(), "events");
  count(machine.graphs.size() + machine.executables.size(), "graphs");
  count(machine.communicators.size(), "communicators");
  return leaks;
}

std::vector<std::string> Faults() {
  Machine& machine = TheMachine();
  MutexLock lock(machine.mu);
  LookForStrayWrites(machine);
  return machine.faults;
}

void HoldStreams(bool held) {
  Machine& machine = TheMachine();
  MutexLock lock(machine.mu);
  machine.held = held;
  machine.changed.NotifyAll();
}

bool CanAccess(int device, const void* data, uint64_t bytes) {
  if (bytes == 0) return true;
  Machine& machine = TheMachine();
  MutexLock lock(machine.mu);
  const Memory* memory = Holder(machine, data);
  if (memory == nullptr || !Holds(*memory, data, bytes)) return false;
  return memory->origin != Origin::kDevice || memory->device == device;
}

}  // namespace engram::cuda_double
