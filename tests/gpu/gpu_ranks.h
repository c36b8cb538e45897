// Ranks of a test as threads, each with a device of its own; on a machine with GPUs and in the double alike.

#ifndef ENGRAM_TESTS_GPU_GPU_RANKS_H_
#define ENGRAM_TESTS_GPU_GPU_RANKS_H_

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shard/gpu/device_memory.h"
#include "shard/in_process_collective.h"

namespace engram {

inline Deadline InAMinute() { return DeadlineAfter(absl::Minutes(1)); }

// Why this machine cannot run a test that needs so many devices; empty when it can.
inline std::string MissingDevices(int needed) {
  const absl::StatusOr<int> devices = CountDevices();
  if (!devices.ok()) return absl::StrCat("no GPU: ", devices.status().ToString());
  return *devices >= needed ? "" : absl::StrCat("needs ", needed, " GPUs, there are ", *devices);
}

// Runs `body` once on each rank, with that rank's end of a collective on the host, and returns when all are done.
inline void RunGpuRanks(int ranks, const std::function<void(Collective&)>& body) {
  const auto group = std::make_shared<InProcessGroup>(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&body, group, rank] {
      InProcessCollective collective(group, rank);
      body(collective);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace engram

#define ENGRAM_SKIP_WITHOUT_DEVICES(needed) \
  if (const std::string missing = MissingDevices(needed); missing != "") GTEST_SKIP() << missing

#endif  // ENGRAM_TESTS_GPU_GPU_RANKS_H_
