// What a synthetic checkpoint says of itself (engram_synth.json): whether it has holes, and for which sequences it has
// rows.

#ifndef ENGRAM_CLIENT_TOOL_CHECKPOINT_SEQUENCES_H_
#define ENGRAM_CLIENT_TOOL_CHECKPOINT_SEQUENCES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/tool/token_file.h"

namespace engram {

struct CheckpointSequences {
  bool sparse = false;                   // only rows that `sequences` reach were written
  std::vector<TokenSequence> sequences;  // each from position 0 with its mask; perhaps none when not sparse
};

// Of a checkpoint folder or file; one without engram_synth.json is not sparse and has none. INVALID_ARGUMENT naming
// file and field for a malformed one, or a sparse one without sequences.
absl::StatusOr<CheckpointSequences> ReadCheckpointSequences(const std::string& checkpoint);

}  // namespace engram

#endif  // ENGRAM_CLIENT_TOOL_CHECKPOINT_SEQUENCES_H_
