// A made-up tokenizer.json whose V token ids fold to exactly C classes (docs/synthetic.md).

#ifndef ENGRAM_CLIENT_TOOL_SYNTH_TOKENIZER_H_
#define ENGRAM_CLIENT_TOOL_SYNTH_TOKENIZER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "model/files/checkpoint.h"

namespace engram {

// A byte-level BPE tokenizer.json without merges. INVALID_ARGUMENT when C > V.
absl::StatusOr<std::string> SynthTokenizerJson(const EngramConfig& config);

// The class of each token id, by construction: t for t < C, else (t - C) mod C. [V].
std::vector<int32_t> SynthTokenMap(const Geometry& geometry);

}  // namespace engram

#endif  // ENGRAM_CLIENT_TOOL_SYNTH_TOKENIZER_H_
