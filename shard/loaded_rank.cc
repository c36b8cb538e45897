#include "shard/loaded_rank.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "model/files/errors.h"
#include "shard/agreement.h"

namespace engram {
namespace {

// Rows of a round are numbered in 32 bits.
constexpr uint64_t kRoundRowsBound = uint64_t{1} << 31;

absl::Status CheckPositive(absl::string_view name, absl::Duration value) {
  if (value > absl::ZeroDuration()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, " is ", absl::FormatDuration(value), ", must be positive"));
}

absl::Status CheckOptions(const EngineOptions& options) {
  if (options.round_rows_max == 0 || options.round_rows_max > kRoundRowsBound) {
    return absl::InvalidArgumentError(
        absl::StrCat("round_rows_max is ", options.round_rows_max, ", must be in [1, ", kRoundRowsBound, "]"));
  }
  ENGRAM_RETURN_IF_ERROR(CheckPositive("round_timeout", options.round_timeout));
  ENGRAM_RETURN_IF_ERROR(CheckPositive("heartbeat", options.heartbeat));
  return CheckPositive("load_timeout", options.load_timeout);
}

absl::Status CheckCheckpoint(const Checkpoint& checkpoint) {
  const Geometry& geometry = checkpoint.geometry;
  ENGRAM_RETURN_IF_ERROR(geometry.Validate());
  if (checkpoint.tables.size() != geometry.layers()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the checkpoint has ", checkpoint.tables.size(), " tables for ", geometry.layers(), " layers"));
  }
  for (size_t layer = 0; layer < geometry.layers(); ++layer) {
    if (checkpoint.tables[layer].rows == geometry.rows[layer]) continue;
    return absl::InvalidArgumentError(absl::StrCat("the table of layer ", geometry.layer_ids[layer], " has ",
                                                   checkpoint.tables[layer].rows, " rows, the geometry says ",
                                                   geometry.rows[layer]));
  }
  return absl::OkStatus();
}

absl::StatusOr<LoadedRank> Load(Collective& collective, const Checkpoint& checkpoint, const EngineOptions& options,
                                LoadMeter& meter) {
  ENGRAM_RETURN_IF_ERROR(CheckOptions(options));
  ENGRAM_RETURN_IF_ERROR(CheckCheckpoint(checkpoint));
  LoadedRank loaded;
  ENGRAM_ASSIGN_OR_RETURN(loaded.shard,
                          Shard::Load(checkpoint, options.placement, collective.rank(), collective.ranks(), meter));
  ENGRAM_ASSIGN_OR_RETURN(loaded.combine,
                          MakeCombine(options.combine, collective, *loaded.shard, options.round_rows_max));
  return loaded;
}

}  // namespace

absl::StatusOr<LoadedRank> LoadRank(Collective& collective, const Checkpoint& checkpoint, const EngineOptions& options,
                                    LoadMeter& meter) {
  const Deadline deadline = DeadlineAfter(options.load_timeout);
  absl::StatusOr<LoadedRank> loaded = Load(collective, checkpoint, options, meter);
  // A rank that failed tells the others instead of leaving them to wait. A late one gets one round's time to say so.
  const Deadline agreed_by = std::max(deadline, DeadlineAfter(options.round_timeout));
  ENGRAM_RETURN_IF_ERROR(Agree(collective, checkpoint, options, loaded.status(), agreed_by));
  return loaded;
}

}  // namespace engram
