#include "shard/launcher.h"

#include <cstdlib>

#include "absl/strings/numbers.h"

namespace engram {

std::optional<int> LaunchedRanks() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    const char* value = std::getenv(name);
    int ranks = 0;
    if (value != nullptr) return absl::SimpleAtoi(value, &ranks) && ranks > 0 ? ranks : 0;
  }
  if (std::getenv("PMIX_RANK") != nullptr) return 0;
  return std::nullopt;
}

}  // namespace engram
