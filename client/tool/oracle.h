// The second reader: what a server must answer, worked out from the files in the plainest way.
//
// Shares neither the hash, nor the row lookup, nor the dequantisation with the server: only the parsing of headers.

#ifndef ENGRAM_CLIENT_TOOL_ORACLE_H_
#define ENGRAM_CLIENT_TOOL_ORACLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "model/files/checkpoint.h"
#include "model/files/table_reader.h"
#include "model/geometry.h"
#include "model/hash_constants.h"

namespace engram {

// Row ids [K] of one layer at `position`, by the formula: sticky pads, then r % prime + offset.
//   window  compressed ids, kDead = masked, oldest first
//   index   of the position in window; the min(position, G-1) entries before it must be there
std::vector<uint64_t> PlainRowIds(const Geometry& geometry, const HashConstants& constants, size_t layer_index,
                                  absl::Span<const int32_t> window, size_t index, uint64_t position);

// bf16(e4m3fn(code) * 2^(scale-127)): exact arithmetic in double, rounded once, to nearest even.
uint16_t PlainBf16(uint8_t code, uint8_t scale);

// Immutable after Open but for the position of file descriptors, which pread does not move; thread-safe.
class Oracle {
 public:
  // Errors of OpenCheckpoint and TableReader.
  static absl::StatusOr<Oracle> Open(const std::string& checkpoint, const std::string& hash_constants);

  const Checkpoint& checkpoint() const { return checkpoint_; }
  const Geometry& geometry() const { return checkpoint_.geometry; }
  const HashConstants& constants() const { return checkpoint_.constants; }

  // One packed row, by pread of the checkpoint's files. INVALID_ARGUMENT for a row past the table; DATA_LOSS,
  // UNAVAILABLE.
  absl::Status ReadPacked(size_t layer_index, uint64_t row, absl::Span<uint8_t> packed) const;

  // packed [D + D/32] -> values [D].
  void Dequantize(absl::Span<const uint8_t> packed, absl::Span<uint16_t> values) const;

 private:
  Oracle(Checkpoint checkpoint, std::vector<TableReader> tables);

  Checkpoint checkpoint_;
  std::vector<TableReader> tables_;
  std::vector<uint16_t> bf16_;  // [256 scales, 256 codes]: PlainBf16 of every pair
};

}  // namespace engram

#endif  // ENGRAM_CLIENT_TOOL_ORACLE_H_
