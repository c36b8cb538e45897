// JSON documents of bounded depth.

#ifndef ENGRAM_MODEL_FILES_JSON_TEXT_H_
#define ENGRAM_MODEL_FILES_JSON_TEXT_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/statusor.h"

namespace engram {

// Reads and parses a whole file whose top level must be an object. INVALID_ARGUMENT naming the path and position for
// malformed JSON or nesting deeper than 64; and the errors of ReadWholeFile.
absl::StatusOr<nlohmann::json> ReadJsonObject(const std::string& path, uint64_t bytes_max);

// "a string", "an array", ...: what a value is, for messages.
std::string JsonKind(const nlohmann::json& value);

}  // namespace engram

#endif  // ENGRAM_MODEL_FILES_JSON_TEXT_H_
