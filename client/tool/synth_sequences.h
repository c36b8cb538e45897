// Token sequences for a sparse checkpoint, and the rows that they reach.

#ifndef ENGRAM_CLIENT_TOOL_SYNTH_SEQUENCES_H_
#define ENGRAM_CLIENT_TOOL_SYNTH_SEQUENCES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/geometry.h"
#include "model/hash_constants.h"

namespace engram {

struct SynthSequences {
  std::string lines;                      // of all files: what engram_synth_sequences.jsonl gets
  std::vector<std::vector<int32_t>> ids;  // compressed ids of each sequence, kDead where its mask is 0
};

// Token files as ReadSequences takes them. INVALID_ARGUMENT naming the sequence, the value and the bound.
absl::StatusOr<SynthSequences> ReadSynthSequences(const std::vector<std::string>& paths, const Geometry& geometry,
                                                  const std::vector<int32_t>& token_map);

// The row ids that the sequences reach in each layer, from position 0 on: ascending, each once. [layers][rows].
std::vector<std::vector<uint64_t>> RowsReached(const Geometry& geometry, const HashConstants& constants,
                                               const SynthSequences& sequences);

}  // namespace engram

#endif  // ENGRAM_CLIENT_TOOL_SYNTH_SEQUENCES_H_
