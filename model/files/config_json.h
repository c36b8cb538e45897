// The Engram's keys of a config.json.

#ifndef ENGRAM_MODEL_FILES_CONFIG_JSON_H_
#define ENGRAM_MODEL_FILES_CONFIG_JSON_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/geometry.h"

namespace engram {

// What config.json states. The optional keys are needed only where hash constants are derived.
struct ConfigFields {
  Geometry geometry;                          // valid
  std::optional<uint64_t> engram_vocab_size;  // where the search for primes begins
  std::optional<uint32_t> pad_token_id;       // < vocab_size; engram_pad_id or engram_pad_token_id
};

// Keys are read from the top level (inference form) and from text_config (Hugging Face form). A key stated more than
// once, also under its other spelling, must have one value. null counts as not stated. NOT_FOUND; INVALID_ARGUMENT
// naming the path, the key, its value and the bound.
absl::StatusOr<ConfigFields> ReadConfigFields(const std::string& path);

// The error for a key that is needed and missing.
absl::Status MissingConfigKey(const std::string& path, const std::string& key);

}  // namespace engram

#endif  // ENGRAM_MODEL_FILES_CONFIG_JSON_H_
