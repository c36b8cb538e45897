// Looks one sequence up in chunks and puts the answers together.

#ifndef ENGRAM_CLIENT_TOOL_LOOKUP_H_
#define ENGRAM_CLIENT_TOOL_LOOKUP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/connection.h"

namespace engram {

struct LookupPlan {
  std::vector<uint32_t> tokens;
  std::vector<uint8_t> mask;  // empty, or one a token
  uint64_t start_pos = 0;
  std::vector<uint32_t> lookback;      // just before start_pos, oldest first
  std::vector<uint8_t> lookback_mask;  // empty, or one for each of them
  std::vector<uint32_t> layers;        // none: all
  v1::RowFormat format = v1::ROW_FORMAT_PACKED;
  bool unique_rows = false;  // StepRequest.unique_rows of the steps for rows; what comes back is the same
  size_t chunk_tokens = 512;
};

struct LookedUpLayer {
  uint32_t layer = 0;
  std::vector<uint64_t> hash_ids;  // [tokens, K]
  std::string rows;                // [tokens, K, row bytes]; empty where the format is HASH_IDS
};

// One session for the rows and, beside it, stateless segments for the row ids, in steps of chunk_tokens. The first
// error of a step or of its segment ends it.
absl::StatusOr<std::vector<LookedUpLayer>> LookUp(Connection& connection, const LookupPlan& plan);

// What came back, with the tokens. `text`: a line a row, row ids and the row's first bytes. `json`: everything, rows in
// hexadecimal.
std::string LookupAsText(const Connection& connection, const LookupPlan& plan,
                         const std::vector<LookedUpLayer>& layers);
std::string LookupAsJson(const Connection& connection, const LookupPlan& plan,
                         const std::vector<LookedUpLayer>& layers);

// Tensors: tokens I64 [T], token_mask U8 [T], and a layer N: layers.N.hash_ids I64 [T, K], layers.N.rows U8 [T, K,
// D+D/32] (packed) or BF16 [T, K, D]; the model's identity, geometry and the place in the sequence as metadata.
absl::Status LookupToSafetensors(const Connection& connection, const LookupPlan& plan,
                                 const std::vector<LookedUpLayer>& layers, const std::string& path);

}  // namespace engram

#endif  // ENGRAM_CLIENT_TOOL_LOOKUP_H_
