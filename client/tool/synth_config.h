// The configuration of a synthetic checkpoint: config.json, checked or corrected, and the constants that follow from
// it.

#ifndef ENGRAM_CLIENT_TOOL_SYNTH_CONFIG_H_
#define ENGRAM_CLIENT_TOOL_SYNTH_CONFIG_H_

#include <string>

#include "absl/status/statusor.h"
#include "client/tool/synth_layout.h"
#include "model/files/checkpoint.h"
#include "model/hash_constants.h"

namespace engram {

struct SynthConfig {
  EngramConfig engram;
  HashConstants constants;  // with the token map that the synthetic tokenizer folds to
  SynthProjection projection;
  std::string json;  // what the checkpoint's config.json gets
};

// INVALID_ARGUMENT where engram_num_embeddings is not the sum of the primes, naming both; with `derive_rows` the sums
// take its place instead.
absl::StatusOr<SynthConfig> LoadSynthConfig(const std::string& path, bool derive_rows);

}  // namespace engram

#endif  // ENGRAM_CLIENT_TOOL_SYNTH_CONFIG_H_
