// A status as fixed-size bytes: what every rank says at the end of every round.

#ifndef ENGRAM_SHARD_RANK_REPORT_H_
#define ENGRAM_SHARD_RANK_REPORT_H_

#include <cstdint>
#include <type_traits>

#include "absl/status/status.h"

namespace engram {

struct RankReport {
  int32_t code = 0;
  uint32_t length = 0;
  char message[504] = {};
};
static_assert(std::is_trivially_copyable_v<RankReport> && sizeof(RankReport) == 512);

// Long messages lose their end.
RankReport ReportOf(const absl::Status& status);

// Only as much of `report` is believed as fits: unknown codes become INTERNAL.
absl::Status StatusOf(const RankReport& report);

// The same, with "rank N: " before the message.
absl::Status StatusOf(const RankReport& report, int rank);

}  // namespace engram

#endif  // ENGRAM_SHARD_RANK_REPORT_H_
