#include "shard/numa_nodes.h"

#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bitset>
#include <filesystem>
#include <set>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace engram {
namespace {

constexpr int kNodesMax = 1024;  // of the kernel

// The folder of a processor holds a link "node3".
void AddNodes(const std::string& processor, std::set<int>& nodes) {
  std::error_code missing;
  for (std::filesystem::directory_iterator at(processor, missing), end; !missing && at != end; at.increment(missing)) {
    const std::string name = at->path().filename();
    int node = 0;
    absl::string_view number = name;
    if (!absl::ConsumePrefix(&number, "node") || !absl::SimpleAtoi(number, &node)) continue;
    if (node >= 0 && node < kNodesMax) nodes.insert(node);
  }
}

}  // namespace

std::vector<int> NodesOfThisThread(const std::string& processors) {
  cpu_set_t allowed;
  std::set<int> nodes;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return {};
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) AddNodes(absl::StrCat(processors, "/cpu", cpu), nodes);
  }
  return std::vector<int>(nodes.begin(), nodes.end());
}

bool InterleaveOver(absl::Span<const int> nodes, absl::Span<std::byte> memory) {
  std::bitset<kNodesMax> mask;
  static_assert(sizeof(mask) == kNodesMax / 8);
  for (const int node : nodes) mask.set(static_cast<size_t>(node));
  // The C library has no name for it. The kernel takes one bit less than it is told.
  return syscall(SYS_mbind, memory.data(), memory.size(), MPOL_INTERLEAVE, &mask, kNodesMax + 1, 0) == 0;
}

}  // namespace engram
