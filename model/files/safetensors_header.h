// The JSON header of a safetensors file, read as a stream of events: 100,000 entries need no document tree, and a
// hostile header can neither nest without end nor make one grow.

#ifndef ENGRAM_MODEL_FILES_SAFETENSORS_HEADER_H_
#define ENGRAM_MODEL_FILES_SAFETENSORS_HEADER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"

namespace engram {

struct SafetensorsHeader {
  struct Entry {
    std::string dtype;
    std::vector<uint64_t> shape;
    uint64_t begin = 0;  // from the start of the data
    uint64_t end = 0;
  };
  absl::flat_hash_map<std::string, Entry> entries;
  std::map<std::string, std::string> metadata;
};

// INVALID_ARGUMENT naming the tensor: malformed JSON, a repeated name or field, a missing or mistyped dtype, shape or
// data_offsets, or begin > end. Unknown fields are skipped.
absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(const std::string& json);

}  // namespace engram

#endif  // ENGRAM_MODEL_FILES_SAFETENSORS_HEADER_H_
