// Hash constants as a file states them.

#ifndef ENGRAM_MODEL_FILES_STATED_CONSTANTS_H_
#define ENGRAM_MODEL_FILES_STATED_CONSTANTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/files/gguf.h"
#include "model/geometry.h"
#include "model/hash_constants.h"

namespace engram {

// Integers widened, nothing checked against a geometry yet. What is optional is checked where it is stated.
struct StatedConstants {
  std::string path;
  std::string key_prefix;                         // "deepseek41.engram." of a GGUF, empty for safetensors: for messages
  std::vector<int64_t> token_map;                 // [V]
  std::vector<int64_t> multipliers;               // [layers, G]
  std::vector<int64_t> primes;                    // [layers, G-1, H]
  std::optional<std::vector<int64_t>> offsets;    // [layers, K]
  std::optional<std::vector<int64_t>> layer_ids;  // [layers]
  std::optional<std::vector<int64_t>> rows;       // [layers]
  std::optional<int64_t> layers;                  // where the file gives shapes but no layer ids
  std::optional<int64_t> pad_id;                  // compressed
  std::optional<int64_t> compressed_vocab_size;
  std::optional<int64_t> heads;
  std::optional<int64_t> head_dim;
  std::optional<int64_t> max_ngram_size;
};

// Either dialect, either prefix. INVALID_ARGUMENT naming a key that is missing or of the wrong type.
absl::StatusOr<StatedConstants> ReadGgufConstants(const GgufFile& file);

// A constants file of either kind, told apart by its first bytes: GGUF, or safetensors with token_map, multipliers and
// primes of any integer dtype. NOT_FOUND, INVALID_ARGUMENT, DATA_LOSS.
absl::StatusOr<StatedConstants> ReadStatedConstants(const std::string& path);

// Checks everything stated against the geometry and returns valid constants. The pad is what the file states and
// token_map[pad_token] where a pad token is known: INVALID_ARGUMENT with neither, FAILED_PRECONDITION where both differ
// or the file speaks of another geometry; INVALID_ARGUMENT naming the value and bound for constants out of range.
absl::StatusOr<HashConstants> ResolveConstants(const StatedConstants& stated, const Geometry& geometry,
                                               std::optional<uint32_t> pad_token_id);

}  // namespace engram

#endif  // ENGRAM_MODEL_FILES_STATED_CONSTANTS_H_
