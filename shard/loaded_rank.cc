#include "shard/loaded_rank.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "model/files/errors.h"
#include "shard/agreement.h"

namespace engram {
namespace {

// Rows of a round are numbered in 32 bits.
constexpr uint64_t kRoundRowsBound = uint64_t{1} << 31;

// For what ranks set up together; as long as ranks may take to join.
constexpr absl::Duration kConnectTimeout = absl::Minutes(2);

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

absl::Status CheckPlacements(const EngineOptions& options, const Geometry& geometry) {
  const std::vector<Placement>& layers = options.layer_placements;
  if (!layers.empty() && layers.size() != geometry.layers()) {
    return absl::InvalidArgumentError(
        absl::StrCat("layer_placements has ", layers.size(), " entries for ", geometry.layers(), " layers"));
  }
  for (size_t layer = 1; layer < layers.size(); ++layer) {
    if (IsOnGpu(layers[layer]) == IsOnGpu(layers[0])) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("layer ", geometry.layer_ids[0], " has placement ", std::string(NameOf(layers[0])), " and layer ",
                     geometry.layer_ids[layer], " ", std::string(NameOf(layers[layer])),
                     ": a rank's layers are either all on its GPU's side (DEVICE, HOST_PINNED) or all on the CPU's"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<GatherPool>> StartPool(const Collective& collective, const EngineOptions& options) {
  const int threads =
      options.gather_threads != 0 ? options.gather_threads : DefaultGatherThreads(collective.local_ranks());
  ENGRAM_ASSIGN_OR_RETURN(std::unique_ptr<GatherPool> pool, GatherPool::Start(threads));
  if (options.note) {
    options.note(
        absl::StrCat("rank ", collective.rank(), " gathers with ", threads, threads == 1 ? " thread" : " threads"));
  }
  return pool;
}

// The GPU of this rank, with room for its share.
absl::StatusOr<std::unique_ptr<GpuRank>> OpenGpu(const Collective& collective, const Checkpoint& checkpoint,
                                                 const EngineOptions& options) {
  if (options.gpu == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat("no GPU ranks: sharding.placement is ",
                                                      std::string(NameOf(options.PlacementOf(0))),
                                                      ", and this program was built without CUDA (ENGRAM_CUDA)"));
  }
  ENGRAM_ASSIGN_OR_RETURN(std::unique_ptr<GpuRank> gpu, options.gpu->Open(collective.local_rank()));
  const GpuLoad load{checkpoint.geometry, options, collective.rank(), collective.ranks(), collective.local_ranks()};
  ENGRAM_ASSIGN_OR_RETURN(const std::vector<std::string> lines, gpu->Plan(load));
  for (const std::string& line : lines) {
    if (options.note) options.note(absl::StrCat("GPU of rank ", collective.rank(), ": ", line));
  }
  return gpu;
}

absl::Status Prepare(const Collective& collective, const Checkpoint& checkpoint, const EngineOptions& options,
                     LoadedRank& rank) {
  ENGRAM_RETURN_IF_ERROR(CheckOptions(options));
  ENGRAM_RETURN_IF_ERROR(CheckCheckpoint(checkpoint));
  ENGRAM_RETURN_IF_ERROR(CheckPlacements(options, checkpoint.geometry));
  if (options.OnGpu()) {
    if (options.repeated_rows == RepeatedRows::kOnce) {
      return absl::InvalidArgumentError("repeated_rows is GATHER_ONCE, must be GATHER_EACH on GPU ranks");
    }
    ENGRAM_ASSIGN_OR_RETURN(rank.gpu, OpenGpu(collective, checkpoint, options));
  } else {
    ENGRAM_ASSIGN_OR_RETURN(rank.pool, StartPool(collective, options));
  }
  return absl::OkStatus();
}

absl::Status Load(Collective& collective, const Checkpoint& checkpoint, const EngineOptions& options, LoadMeter& meter,
                  LoadedRank& rank) {
  ENGRAM_ASSIGN_OR_RETURN(rank.shard, Shard::Load(checkpoint, options, rank.gpu.get(), collective.rank(),
                                                  collective.ranks(), meter, rank.pool.get()));
  absl::StatusOr<std::unique_ptr<Combine>> combine =
      rank.gpu == nullptr ? MakeCombine(options, collective, *rank.shard)
                          : rank.gpu->MakeCombine(options.combine, collective, *rank.shard, options.round_rows_max);
  ENGRAM_ASSIGN_OR_RETURN(rank.combine, std::move(combine));
  return absl::OkStatus();
}

void NoteRepeatedRows(const EngineOptions& options, const Collective& collective, const Combine& combine) {
  if (collective.rank() != 0 || !options.note) return;
  options.note(absl::StrCat("rows that a round has several times are gathered ",
                            combine.gathers_once() ? "once, then copied" : "each time"));
}

}  // namespace

absl::StatusOr<LoadedRank> LoadRank(Collective& collective, const Checkpoint& checkpoint, const EngineOptions& options,
                                    LoadMeter& meter) {
  const Deadline deadline = DeadlineAfter(options.load_timeout);
  LoadedRank rank;
  // What can be refused is refused before hours of loading. A rank that failed tells the others instead of leaving
  // them to wait.
  const absl::Status prepared = Prepare(collective, checkpoint, options, rank);
  const std::string gpu = rank.gpu == nullptr ? "" : rank.gpu->id();
  ENGRAM_RETURN_IF_ERROR(Agree(collective, checkpoint, options, gpu, prepared, deadline));
  const absl::Status loaded = Load(collective, checkpoint, options, meter, rank);
  // A late one gets one round's time to say so.
  ENGRAM_RETURN_IF_ERROR(AgreeOnStatus(collective, loaded, std::max(deadline, DeadlineAfter(options.round_timeout))));
  ENGRAM_RETURN_IF_ERROR(rank.combine->Connect(DeadlineAfter(std::min(kConnectTimeout, options.load_timeout))));
  NoteRepeatedRows(options, collective, *rank.combine);
  return rank;
}

}  // namespace engram
