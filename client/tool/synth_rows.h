// What the rows of a synthetic table hold: a pure function of (seed, layer id, row), defined in docs/synthetic.md.

#ifndef ENGRAM_CLIENT_TOOL_SYNTH_ROWS_H_
#define ENGRAM_CLIENT_TOOL_SYNTH_ROWS_H_

#include <cstdint>

#include "absl/types/span.h"

namespace engram {

// Every row of a layer is drawn from its key.
uint64_t SynthLayerKey(uint64_t seed, uint64_t layer_id);

// Fills codes [D] (e4m3fn: no NaN, the first one never a zero) and scales [D/32] (e8m0, 119..134). D is a multiple
// of 32.
void SynthRow(uint64_t layer_key, uint64_t row, absl::Span<uint8_t> codes, absl::Span<uint8_t> scales);

}  // namespace engram

#endif  // ENGRAM_CLIENT_TOOL_SYNTH_ROWS_H_
