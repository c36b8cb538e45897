// Writes a synthetic checkpoint in the layout of the released files (docs/synthetic.md).

#ifndef ENGRAM_CLIENT_TOOL_SYNTH_H_
#define ENGRAM_CLIENT_TOOL_SYNTH_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace engram {

inline constexpr size_t kSynthShardFilesMax = 999;

struct SynthOptions {
  std::string config_path;  // config.json in either form
  std::string folder;       // made when missing
  uint64_t seed = 1;
  size_t shard_files = 4;
  bool derive_rows = false;              // put the sums of the derived primes in the place of engram_num_embeddings
  bool sparse = false;                   // holes, and only the rows that `token_paths` reach
  std::vector<std::string> token_paths;  // the sequences are copied into the folder
  bool force = false;                    // replace a synthetic checkpoint
};

struct SynthReport {
  uint64_t rows_written = 0;
  uint64_t rows = 0;            // of all tables
  uint64_t apparent_bytes = 0;  // of the shards
  uint64_t disk_bytes = 0;
};

// Writes everything, then opens the result as a server would and compares the constants it derives. After an error
// nothing of what was made is left.
//   INVALID_ARGUMENT     configuration, sequences or shard count, naming field, value and bound
//   FAILED_PRECONDITION  the folder is not empty and may not be replaced
//   UNIMPLEMENTED        sparse, and the file system has no holes or no files so large
//   RESOURCE_EXHAUSTED   not enough room on disk
absl::StatusOr<SynthReport> WriteSynth(const SynthOptions& options);

}  // namespace engram

#endif  // ENGRAM_CLIENT_TOOL_SYNTH_H_
