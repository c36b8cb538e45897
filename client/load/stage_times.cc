#include "client/load/stage_times.h"

namespace engram {
namespace {

absl::Duration Grown(uint64_t before, uint64_t after) {
  return absl::Nanoseconds(static_cast<int64_t>(after - before));
}

}  // namespace

std::optional<StageTimes> StagesBetween(const v1::ServerStatus& before, const v1::ServerStatus& after,
                                        absl::Duration elapsed) {
  StageTimes stages;
  stages.rounds = after.rounds() - before.rounds();
  stages.elapsed = elapsed;
  stages.hash = Grown(before.hash_ns(), after.hash_ns());
  stages.gather = Grown(before.gather_ns(), after.gather_ns());
  stages.deliver = Grown(before.deliver_ns(), after.deliver_ns());
  const bool fell = after.rounds() < before.rounds() || after.hash_ns() < before.hash_ns() ||
                    after.gather_ns() < before.gather_ns() || after.deliver_ns() < before.deliver_ns();
  if (fell || stages.rounds == 0 || stages.busy() == absl::ZeroDuration()) return std::nullopt;
  return stages;
}

}  // namespace engram
