// Where the server spent its time, from the counters it tells.

#ifndef ENGRAM_CLIENT_LOAD_STAGE_TIMES_H_
#define ENGRAM_CLIENT_LOAD_STAGE_TIMES_H_

#include <cstdint>
#include <optional>

#include "absl/time/time.h"
#include "engram/v1/admin.pb.h"

namespace engram {

// Of the engine's rounds between two moments.
struct StageTimes {
  uint64_t rounds = 0;
  absl::Duration elapsed;  // between the moments
  absl::Duration hash;
  absl::Duration gather;
  absl::Duration deliver;

  absl::Duration busy() const { return hash + gather + deliver; }
};

// None where the counters are not told, or fell (the server was started anew), or no round was run.
std::optional<StageTimes> StagesBetween(const v1::ServerStatus& before, const v1::ServerStatus& after,
                                        absl::Duration elapsed);

}  // namespace engram

#endif  // ENGRAM_CLIENT_LOAD_STAGE_TIMES_H_
