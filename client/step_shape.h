// What a step's answer must look like, taken from its request before that is sent.

#ifndef ENGRAM_CLIENT_STEP_SHAPE_H_
#define ENGRAM_CLIENT_STEP_SHAPE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "engram/v1/engram.pb.h"
#include "model/geometry.h"

namespace engram {

struct StepShape {
  std::vector<uint32_t> layers;          // decoder layer ids, ascending
  std::vector<uint64_t> segment_begins;  // [segments + 1]: first token of each segment, then the number of tokens
  uint32_t columns = 0;                  // K
  uint32_t row_bytes = 0;                // of the step's format; 8 for HASH_IDS
  bool hash_ids = false;
  bool unique_rows = false;  // frames may have a row_index
  bool keep_unique = false;  // and the result keeps it; see LayerRows
  std::string mask;          // [tokens], 0 where a token's rows are left out; empty: none is

  uint64_t tokens() const { return segment_begins.back(); }
  size_t segments() const { return segment_begins.size() - 1; }
  // Tokens of [begin, end) whose rows are sent.
  uint64_t SentTokens(uint64_t begin, uint64_t end) const;
  bool Sends(uint64_t token) const { return mask.empty() || mask[token] != 0; }
};

// Of one row in the answer: 8 for HASH_IDS, the row id itself.
uint32_t RowBytesOf(v1::RowFormat format, const Geometry& geometry);

// Describes any request, valid or not: what is wrong with one is the server's to say.
StepShape ShapeOf(const v1::StepRequest& request, const Geometry& geometry);

}  // namespace engram

#endif  // ENGRAM_CLIENT_STEP_SHAPE_H_
