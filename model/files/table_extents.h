// Where the tables of a checkpoint lie, compared with each other.

#ifndef ENGRAM_MODEL_FILES_TABLE_EXTENTS_H_
#define ENGRAM_MODEL_FILES_TABLE_EXTENTS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "model/files/checkpoint.h"

namespace engram {

// INVALID_ARGUMENT naming the file, both parts and their bytes where two tables share bytes, or the codes and the
// scales of one. `tables` one a layer, their extents checked against the files.
absl::Status CheckApart(const std::vector<TableFiles>& tables, const std::vector<uint32_t>& layer_ids);

}  // namespace engram

#endif  // ENGRAM_MODEL_FILES_TABLE_EXTENTS_H_
