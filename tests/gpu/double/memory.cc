// Blocks with red zones, and what becomes of them when they are freed.

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "tests/gpu/double/machine.h"

namespace engram::cuda_double {
namespace {

constexpr uint64_t kZone = 256;  // bytes on each side; also the alignment of what cudaMalloc returns
constexpr uint8_t kZoneByte = 0xFA;
constexpr size_t kFreedBlocksMax = 64;

uint64_t BlockBytes(uint64_t bytes) { return kZone + (bytes + kZone - 1) / kZone * kZone + kZone; }

bool AllAre(const uint8_t* data, uint64_t bytes, uint8_t value) {
  return std::all_of(data, data + bytes, [value](uint8_t byte) { return byte == value; });
}

bool ZonesAreWhole(const Memory& memory) {
  const uint8_t* end = memory.data + memory.bytes;
  const auto behind = static_cast<uint64_t>(memory.block + BlockBytes(memory.bytes) - end);
  return AllAre(memory.block, kZone, kZoneByte) && AllAre(end, behind, kZoneByte);
}

void CheckZones(Machine& machine, const Memory& memory) ABSL_EXCLUSIVE_LOCKS_REQUIRED(machine.mu) {
  if (memory.block == nullptr || ZonesAreWhole(memory)) return;
  machine.faults.push_back(absl::StrCat("written outside ", memory.bytes, " bytes of device ", memory.device));
}

void CheckFreed(Machine& machine, const Memory& memory) ABSL_EXCLUSIVE_LOCKS_REQUIRED(machine.mu) {
  if (AllAre(memory.data, memory.bytes, kFreedByte)) return;
  machine.faults.push_back(absl::StrCat("written after free: ", memory.bytes, " bytes of device ", memory.device));
}

}  // namespace

uint8_t* Allocate(Machine& machine, Origin origin, uint64_t bytes) {
  if (FailsAcquisition(machine)) return nullptr;
  Device& device = machine.devices[static_cast<size_t>(CurrentDevice())];
  if (origin == Origin::kDevice && bytes > machine.plan.device_bytes - device.used) return nullptr;
  Memory memory;
  memory.origin = origin;
  memory.device = CurrentDevice();
  memory.bytes = bytes;
  memory.block = static_cast<uint8_t*>(std::aligned_alloc(kZone, BlockBytes(bytes)));
  if (memory.block == nullptr) return nullptr;
  memory.data = memory.block + kZone;
  std::memset(memory.block, kZoneByte, BlockBytes(bytes));
  std::memset(memory.data, kFreshByte, bytes);
  if (origin == Origin::kDevice) device.used += bytes;
  machine.memory[reinterpret_cast<uintptr_t>(memory.data)] = memory;
  return memory.data;
}

void Release(Machine& machine, Memory memory) {
  if (memory.origin == Origin::kDevice) machine.devices[static_cast<size_t>(memory.device)].used -= memory.bytes;
  machine.memory.erase(reinterpret_cast<uintptr_t>(memory.data));
  if (memory.block == nullptr) return;
  CheckZones(machine, memory);
  std::memset(memory.data, kFreedByte, memory.bytes);
  machine.freed.push_back(memory);
  if (machine.freed.size() <= kFreedBlocksMax) return;
  CheckFreed(machine, machine.freed.front());
  std::free(machine.freed.front().block);
  machine.freed.pop_front();
}

const Memory* Holder(Machine& machine, const void* data) {
  auto next = machine.memory.upper_bound(reinterpret_cast<uintptr_t>(data));
  if (next == machine.memory.begin()) return nullptr;
  const Memory& memory = std::prev(next)->second;
  return Holds(memory, data, 1) ? &memory : nullptr;
}

bool Holds(const Memory& memory, const void* data, uint64_t bytes) {
  const uint64_t at = reinterpret_cast<uintptr_t>(data) - reinterpret_cast<uintptr_t>(memory.data);
  return at <= memory.bytes && bytes <= memory.bytes - at;
}

void LookForStrayWrites(Machine& machine) {
  for (const auto& [at, memory] : machine.memory) CheckZones(machine, memory);
  for (const Memory& memory : machine.freed) CheckFreed(machine, memory);
}

void ForgetMemory(Machine& machine) {
  for (const auto& [at, memory] : machine.memory) std::free(memory.block);
  for (const Memory& memory : machine.freed) std::free(memory.block);
  machine.memory.clear();
  machine.freed.clear();
}

}  // namespace engram::cuda_double
