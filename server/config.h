// The configuration of engram-server: reading it, changing single fields, filling in defaults, checking bounds.
//
// A configuration is made in this order: ParseConfig of a file, SetByPath for flags and --set, FillDefaults,
// ValidateConfig; once the checkpoint is open, ValidateForModel. All functions are pure and thread-safe.

#ifndef ENGRAM_SERVER_CONFIG_H_
#define ENGRAM_SERVER_CONFIG_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engram/v1/config.pb.h"
#include "model/geometry.h"
#include "server/mapped_segment.h"
#include "server/session_store.h"
#include "shard/engine.h"

namespace engram {

// Parses Protobuf text format. `source` names the text in messages, usually a file. INVALID_ARGUMENT with
// "source:line:column: what" for the first three faults: syntax, unknown fields, values out of their type's range, a
// field given twice.
absl::StatusOr<v1::ServerConfig> ParseConfig(const std::string& text, const std::string& source);

// Reads and parses a file of at most 1 MiB. NOT_FOUND when it cannot be read, else as ParseConfig.
absl::StatusOr<v1::ServerConfig> LoadConfig(const std::string& path);

// Applies "streams.frame_bytes_max=65536": numbers in decimal, enumerations by name, strings as they stand (an empty
// one is the empty string). INVALID_ARGUMENT naming the assignment, and the fields, names or range that exist there.
absl::Status SetByPath(v1::ServerConfig& config, const std::string& assignment);

// Writes its default into every field that is absent. All defaults are in config_rules.cc.
void FillDefaults(v1::ServerConfig& config);

// Checks a complete configuration (after FillDefaults) against the bounds of config_rules.cc. INVALID_ARGUMENT naming
// the field, its value and the bound. An empty model.checkpoint passes: --print-config needs none.
absl::Status ValidateConfig(const v1::ServerConfig& config);

// What can only be checked with the model open: one token's rows must fit into a frame, a round and a stream's budget,
// an answer to Lookup into the 4 MiB every gRPC client takes, and `ranks` must be what sharding.shards asks for (1
// under mpirun). INVALID_ARGUMENT naming the field, its value and the bound.
absl::Status ValidateForModel(const v1::ServerConfig& config, const Geometry& geometry, size_t ranks);

// The configuration in text format; parses back to an equal message.
std::string PrintConfig(const v1::ServerConfig& config);

// Views of a validated configuration for the session store, for streams, and for the engine (its `progress` is left
// empty).
SessionLimits SessionLimitsOf(const v1::ServerConfig& config);
SegmentRules SegmentRulesOf(const v1::ServerConfig& config);
EngineOptions EngineOptionsOf(const v1::ServerConfig& config, const Geometry& geometry);

}  // namespace engram

#endif  // ENGRAM_SERVER_CONFIG_H_
