// JSON documents of bounded depth.

#ifndef ENGRAM_MODEL_FILES_JSON_TEXT_H_
#define ENGRAM_MODEL_FILES_JSON_TEXT_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace engram {

// Parses a text whose top level must be an object. INVALID_ARGUMENT naming `where` and the position or key for
// malformed JSON, nesting deeper than 64, or a key that stands twice in one object.
absl::StatusOr<nlohmann::json> ParseJsonObject(absl::string_view text, const std::string& where);

// ParseJsonObject of a whole file; and the errors of ReadWholeFile.
absl::StatusOr<nlohmann::json> ReadJsonObject(const std::string& path, uint64_t bytes_max);

// "a string", "an array", ...: what a value is, for messages.
std::string JsonKind(const nlohmann::json& value);

}  // namespace engram

#endif  // ENGRAM_MODEL_FILES_JSON_TEXT_H_
