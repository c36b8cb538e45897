// Opens a released checkpoint (safetensors folder or GGUF) and says where the rows of each table lie. Reads headers
// only.

#ifndef ENGRAM_MODEL_FILES_CHECKPOINT_H_
#define ENGRAM_MODEL_FILES_CHECKPOINT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "model/geometry.h"
#include "model/hash_constants.h"

namespace engram {

// `rows` records of `width` bytes: record i begins at offset + i*stride of the file. Nothing is aligned.
struct StridedBytes {
  std::string path;
  uint64_t offset = 0;
  uint64_t stride = 0;
  uint32_t width = 0;
};

// One layer's table: codes [rows, D] and scales [rows, D/32]. In safetensors the two are tensors of their own, perhaps
// in two files; in GGUF they interleave in one.
struct TableFiles {
  uint64_t rows = 0;
  StridedBytes codes;
  StridedBytes scales;
};

struct Checkpoint {
  std::string name;  // base name of the folder or file
  Geometry geometry;
  HashConstants constants;
  std::vector<TableFiles> tables;  // one a layer, in the order of geometry.layer_ids; extents checked against the files
  std::string constants_digest;    // 32 bytes
  std::string model_digest;        // 32 bytes
};

// `path`: a folder with config.json and model.safetensors.index.json (or model.safetensors), or a GGUF file with
// tables. `hash_constants_path`: empty, or a constants GGUF, or safetensors with token_map, multipliers and primes
// (pad_id and offsets optional); it must agree with the constants the checkpoint itself states. Without it a folder's
// constants are derived from tokenizer.json and config.json. Errors: NOT_FOUND (a file), INVALID_ARGUMENT and
// FAILED_PRECONDITION naming the file, the tensor or key, the value and the bound; DATA_LOSS for a file shorter than
// its header says.
absl::StatusOr<Checkpoint> OpenCheckpoint(const std::string& path, const std::string& hash_constants_path);

// Only the geometry of a config.json (either form), for programs that make checkpoints. `engram_vocab_size` and the pad
// token are returned beside it because files that carry the constants need neither.
struct EngramConfig {
  Geometry geometry;
  uint64_t engram_vocab_size = 0;
  uint32_t pad_token_id = 0;
};
absl::StatusOr<EngramConfig> ReadEngramConfig(const std::string& config_json_path);

}  // namespace engram

#endif  // ENGRAM_MODEL_FILES_CHECKPOINT_H_
