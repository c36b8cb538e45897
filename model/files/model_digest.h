// The identity of a model: its constants and a sample of its rows.

#ifndef ENGRAM_MODEL_FILES_MODEL_DIGEST_H_
#define ENGRAM_MODEL_FILES_MODEL_DIGEST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "model/files/checkpoint.h"

namespace engram {

// The rows of a table that go into the digest: i * (rows - 1) / 63 for i = 0..63, so the first and the last are among
// them; every row of a table of up to 64.
std::vector<uint64_t> SampledRows(uint64_t rows);

// SHA-256 (32 bytes) over constants_digest and, for each layer, its id, rows, D, codes' and scales' formats, and the
// sampled rows (row, codes, scales). How the files hold the table does not matter: safetensors and GGUF of one table
// agree. The errors of TableReader.
absl::StatusOr<std::string> ModelDigest(const Geometry& geometry, const std::string& constants_digest,
                                        const std::vector<TableFiles>& tables);

}  // namespace engram

#endif  // ENGRAM_MODEL_FILES_MODEL_DIGEST_H_
