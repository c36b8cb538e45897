// How often texts ask for the same row: what there is to win where rows are gathered, or sent, once.

#ifndef ENGRAM_CLIENT_TOOL_REPEATS_H_
#define ENGRAM_CLIENT_TOOL_REPEATS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/tool/token_file.h"
#include "model/files/checkpoint.h"

namespace engram {

// Of all windows of one kind.
struct RepeatCounts {
  std::string name;
  uint64_t windows = 0;
  uint64_t rows = 0;             // asked for, each time
  std::vector<uint64_t> unique;  // [G-1] different rows of a window, of 2-grams, 3-grams...
  absl::Duration spent;          // finding them

  uint64_t unique_rows() const;  // of all orders
  double ratio() const;          // unique_rows of rows
};

// Rows of one layer, in windows that stand for one frame, one round, one step: consecutive tokens of a text, the last
// ones fewer, and `decode` steps of so many sequences at once, a token each. A window never holds two texts but for
// decode steps, whose sequences begin evenly spread over all texts. Kinds that the texts are too short for are left
// out. Every layer repeats alike, since rows are the same where n-grams are. Tokens must be below vocab_size.
std::vector<RepeatCounts> CountRepeats(const Checkpoint& checkpoint, const std::vector<TokenSequence>& texts);

// A line a kind: the ratio by n-gram order and of all rows, what a frame then has of its bytes as PACKED and as BF16,
// nanoseconds a row to find repeats, and the bandwidth up to which that is won back by PACKED rows (docs/dedup.md).
std::string RepeatTable(const std::vector<RepeatCounts>& counts, const Geometry& geometry);

}  // namespace engram

#endif  // ENGRAM_CLIENT_TOOL_REPEATS_H_
