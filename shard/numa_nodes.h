// Memory on machines where it is nearer to some processors than to others.

#ifndef ENGRAM_SHARD_NUMA_NODES_H_
#define ENGRAM_SHARD_NUMA_NODES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/types/span.h"

namespace engram {

// The nodes of the processors that this thread may run on, ascending; empty where the system does not say.
// `processors`: where it describes them.
std::vector<int> NodesOfThisThread(const std::string& processors = "/sys/devices/system/cpu");

// Pages of `memory`, whose begin is page-aligned, that nobody has touched yet will alternate between `nodes`. False
// where the system does not do so.
bool InterleaveOver(absl::Span<const int> nodes, absl::Span<std::byte> memory);

}  // namespace engram

#endif  // ENGRAM_SHARD_NUMA_NODES_H_
