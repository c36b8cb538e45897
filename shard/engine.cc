#include "shard/engine.h"

#include <algorithm>

namespace engram {

std::string_view NameOf(CombineMode mode) {
  switch (mode) {
    case CombineMode::kAllReduceBf16:
      return "ALL_REDUCE_BF16";
    case CombineMode::kAllReducePacked:
      return "ALL_REDUCE_PACKED";
    case CombineMode::kOwnerGather:
      return "OWNER_GATHER";
  }
  return "unknown combine mode";
}

std::string_view NameOf(Placement placement) {
  switch (placement) {
    case Placement::kHost:
      return "HOST";
    case Placement::kMapped:
      return "MAPPED";
    case Placement::kDevice:
      return "DEVICE";
    case Placement::kHostPinned:
      return "HOST_PINNED";
  }
  return "unknown placement";
}

bool Serves(CombineMode mode, RowForm form) { return mode != CombineMode::kAllReduceBf16 || form == RowForm::kBf16; }

ShardRange ShardOf(uint64_t rows, size_t rank, size_t ranks) {
  const uint64_t part = rows / ranks + (rows % ranks != 0 ? 1 : 0);
  // part * rank may leave 64 bits for absurd numbers; any product past the last row is the same empty shard.
  uint64_t begin = 0;
  if (__builtin_mul_overflow(part, rank, &begin) || begin > rows) begin = rows;
  return {begin, begin + std::min(part, rows - begin)};
}

}  // namespace engram
