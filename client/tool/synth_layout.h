// Where everything of a synthetic checkpoint lies: safetensors shards in the layout of the released files.

#ifndef ENGRAM_CLIENT_TOOL_SYNTH_LAYOUT_H_
#define ENGRAM_CLIENT_TOOL_SYNTH_LAYOUT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "model/geometry.h"

namespace engram {

// The gate and projection of each layer; dim 0 leaves them out.
struct SynthProjection {
  uint64_t dim = 0;
  uint64_t hc_mult = 0;
};

struct SynthTensor {
  std::string name;
  std::string dtype;
  std::vector<uint64_t> shape;
  uint64_t bytes = 0;
  std::string content;  // the whole of it, or empty: a table, written row by row
  uint64_t offset = 0;  // in its shard file
};

struct SynthShard {
  std::string file_name;
  std::string header;  // length and JSON: the first bytes of the file
  std::vector<SynthTensor> tensors;
  uint64_t bytes = 0;
};

// Codes and scales of one layer's table: shard index and offset in that file.
struct SynthTable {
  size_t codes_shard = 0;
  uint64_t codes_offset = 0;
  size_t scales_shard = 0;
  uint64_t scales_offset = 0;
};

struct SynthLayout {
  std::vector<SynthShard> shards;
  std::vector<SynthTable> tables;  // in the order of geometry.layer_ids

  uint64_t bytes() const;         // of all shards
  std::string IndexJson() const;  // model.safetensors.index.json
};

// `shards` >= 1. Codes and scales of a layer go to different shards where there are two or more; each shard begins with
// a tensor of an odd number of bytes and a dtype few readers know, so that nothing behind it is aligned.
SynthLayout PlanSynthLayout(const Geometry& geometry, const SynthProjection& projection, uint64_t seed, size_t shards);

}  // namespace engram

#endif  // ENGRAM_CLIENT_TOOL_SYNTH_LAYOUT_H_
