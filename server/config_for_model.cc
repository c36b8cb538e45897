// Bounds of the configuration that depend on the model.

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/config.h"
#include "server/frame_plan.h"

namespace engram {
namespace {

// What every gRPC client takes without being told otherwise, and what an answer to Lookup needs of it besides rows.
constexpr uint64_t kClientMessageBytes = uint64_t{4} << 20;
constexpr uint64_t kAnswerFieldsBytes = uint64_t{64} << 10;
absl::Status RefuseNumber(const char* field, uint64_t value, const std::string& bound) {
  return absl::InvalidArgumentError(absl::StrCat(field, " = ", value, ": must be ", bound));
}

absl::Status ValidatePlacements(const v1::ServerConfig& config, const Geometry& geometry) {
  for (int i = 0; i < config.sharding().layer_placements_size(); ++i) {
    const uint32_t layer = config.sharding().layer_placements(i).layer();
    if (std::count(geometry.layer_ids.begin(), geometry.layer_ids.end(), layer) > 0) continue;
    return RefuseNumber(absl::StrCat("sharding.layer_placements[", i, "].layer").c_str(), layer,
                        absl::StrCat("one of the model's Engram layers ", absl::StrJoin(geometry.layer_ids, ", ")));
  }
  const EngineOptions options = EngineOptionsOf(config, geometry);
  for (size_t i = 1; i < geometry.layers(); ++i) {
    if (IsOnGpu(options.PlacementOf(i)) == options.OnGpu()) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "sharding.placement and sharding.layer_placements: layer ", geometry.layer_ids[0], " is ",
        std::string(NameOf(options.PlacementOf(0))), " and layer ", geometry.layer_ids[i], " ",
        std::string(NameOf(options.PlacementOf(i))), ": must be all DEVICE or HOST_PINNED, or all HOST or MAPPED"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateForModel(const v1::ServerConfig& config, const Geometry& geometry, size_t ranks) {
  const v1::StreamLimits& streams = config.streams();
  if (config.sharding().shards() != 1 && config.sharding().shards() != ranks) {
    return RefuseNumber("sharding.shards", config.sharding().shards(),
                        absl::StrCat("absent or 1 where a launcher started the ranks (", ranks, ")"));
  }
  if (absl::Status status = ValidatePlacements(config, geometry); !status.ok()) return status;
  // bf16 is the largest form of a row. Geometry::Validate bounds these factors: no product passes 2^48.
  const uint64_t token_bytes = uint64_t{geometry.columns()} * geometry.bf16_row_bytes();
  const uint64_t all_layers_bytes = token_bytes * geometry.layers();
  const std::string rows = absl::StrCat(" (one token's rows of a layer are ", token_bytes, " bytes as bf16)");
  if (streams.frame_bytes_max() < token_bytes + kFrameFieldsBytes) {
    return RefuseNumber("streams.frame_bytes_max", streams.frame_bytes_max(),
                        absl::StrCat("at least ", token_bytes + kFrameFieldsBytes, " for this model", rows));
  }
  if (config.scheduling().round_bytes_max() < token_bytes) {
    return RefuseNumber("scheduling.round_bytes_max", config.scheduling().round_bytes_max(),
                        absl::StrCat("at least ", token_bytes, " for this model", rows));
  }
  if (streams.bytes_in_flight_max() < all_layers_bytes) {
    return RefuseNumber("streams.bytes_in_flight_max", streams.bytes_in_flight_max(),
                        absl::StrCat("at least ", all_layers_bytes, " for this model", rows));
  }
  const uint64_t lookup_max = (kClientMessageBytes - kAnswerFieldsBytes) / all_layers_bytes;
  if (streams.lookup_tokens_max() > lookup_max) {
    return RefuseNumber("streams.lookup_tokens_max", streams.lookup_tokens_max(),
                        absl::StrCat("at most ", lookup_max, " for this model: an answer must stay under 4 MiB", rows));
  }
  return absl::OkStatus();
}

}  // namespace engram
