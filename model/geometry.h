// The shape of a model's Engram: which decoder layers look rows up, and how large their tables are.

#ifndef ENGRAM_MODEL_GEOMETRY_H_
#define ENGRAM_MODEL_GEOMETRY_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"

namespace engram {

// Codes that share one e8m0 scale.
inline constexpr uint32_t kScaleBlock = 32;

// Far above any model (2 layers of 24 columns), low enough that a hostile file cannot make hash constants without end.
inline constexpr size_t kLayersMax = 1024;
inline constexpr size_t kLayerColumnsMax = 65536;

struct Geometry {
  std::vector<uint32_t> layer_ids;     // decoder layer ids, in the order of the tables ([1, 14])
  std::vector<uint64_t> rows;          // rows of each layer's table
  uint32_t max_ngram_size = 0;         // G: look-back window, the token itself included
  uint32_t heads = 0;                  // H: hashes for each n-gram size
  uint32_t head_dim = 0;               // D: codes in a row; a multiple of kScaleBlock
  uint32_t vocab_size = 0;             // V: token ids are < V
  uint32_t compressed_vocab_size = 0;  // C: compressed ids are < C

  size_t layers() const { return layer_ids.size(); }
  uint32_t columns() const { return (max_ngram_size - 1) * heads; }  // K
  uint32_t scales() const { return head_dim / kScaleBlock; }         // e8m0 bytes in a row
  uint32_t packed_row_bytes() const { return head_dim + scales(); }  // codes, then scales
  uint32_t bf16_row_bytes() const { return 2 * head_dim; }

  // Index of a decoder layer id in layer_ids, or -1.
  int LayerIndex(uint32_t layer_id) const;

  // INVALID_ARGUMENT naming the field, its value and the bound when the shape cannot be served: no layers, repeated
  // layer ids, layers and rows of different length, G outside [2, 16], H outside [1, 1024], D no positive multiple of
  // kScaleBlock or above 65536, rows outside [1, 2^48), V or C zero or above 2^31 - 1, more than
  // kLayersMax layers, layers * K above kLayerColumnsMax.
  absl::Status Validate() const;

  friend bool operator==(const Geometry&, const Geometry&) = default;
};

}  // namespace engram

#endif  // ENGRAM_MODEL_GEOMETRY_H_
