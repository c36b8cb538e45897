// What a frame says of its unique rows: StepReply.row_index.

#ifndef ENGRAM_CLIENT_ROW_INDEX_H_
#define ENGRAM_CLIENT_ROW_INDEX_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"

namespace engram {

// What is wrong with an index into `unique` rows that stand in the order in which it first names them; empty: nothing.
// The message is hostile: every value is looked at.
std::string FaultOfRowIndex(absl::Span<const uint32_t> index, uint64_t unique);

}  // namespace engram

#endif  // ENGRAM_CLIENT_ROW_INDEX_H_
