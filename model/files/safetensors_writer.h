// Writes safetensors files: the header and each tensor's place first, the data whenever the caller has it.

#ifndef ENGRAM_MODEL_FILES_SAFETENSORS_WRITER_H_
#define ENGRAM_MODEL_FILES_SAFETENSORS_WRITER_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace engram {

struct SafetensorsSpec {
  std::string name;
  std::string dtype;  // "F8_E4M3", "I64", ... (SafetensorsDtypeBytes knows them)
  std::vector<uint64_t> shape;
};

// Where everything of a file goes. `header` are the first bytes of the file; tensor i has tensor_bytes[i] bytes at
// offsets[i] from the start of the file; the file has file_bytes bytes.
struct SafetensorsLayout {
  std::string header;
  std::vector<uint64_t> offsets;
  std::vector<uint64_t> tensor_bytes;
  uint64_t file_bytes = 0;
};

// Tensors follow each other in the order given. For files too large to hold (or full of holes): lay out, write the
// header, then each tensor at its offset. INVALID_ARGUMENT for an unknown dtype, a repeated name or sizes past 2^63
// - 1.
absl::StatusOr<SafetensorsLayout> LayOutSafetensors(const std::vector<SafetensorsSpec>& tensors,
                                                    const std::map<std::string, std::string>& metadata);

// One whole file at once; bytes[i] belongs to tensors[i] and is little-endian. INVALID_ARGUMENT where its length is not
// what dtype and shape say; UNAVAILABLE where the file cannot be written.
absl::Status WriteSafetensors(const std::string& path, const std::vector<SafetensorsSpec>& tensors,
                              const std::vector<std::string_view>& bytes,
                              const std::map<std::string, std::string>& metadata);

}  // namespace engram

#endif  // ENGRAM_MODEL_FILES_SAFETENSORS_WRITER_H_
