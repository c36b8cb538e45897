#include "client/load/report.h"

#include <algorithm>

namespace engram {

bool LoadReport::slo_met() const {
  return std::all_of(slo.begin(), slo.end(), [](const SloResult& result) { return result.met(); });
}

std::vector<std::pair<std::string, KindTally>> KindsOf(const LoadReport& report) {
  std::vector<std::pair<std::string, KindTally>> kinds;
  for (size_t kind = 0; kind < kStepKinds; ++kind) {
    const KindTally& tally = report.total.kinds[kind];
    if (tally.steps() > 0) kinds.emplace_back(kStepKindNames[kind], tally);
  }
  if (kinds.size() != 1) kinds.emplace_back("all", report.total.All());
  return kinds;
}

}  // namespace engram
