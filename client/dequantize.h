// Turns PACKED rows into the bf16 values that a model multiplies.

#ifndef ENGRAM_CLIENT_DEQUANTIZE_H_
#define ENGRAM_CLIENT_DEQUANTIZE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "engram/v1/engram.pb.h"
#include "model/geometry.h"

namespace engram {

// packed [rows, D + D/32] -> values [rows, D], bf16. What a server answers in ROW_FORMAT_BF16, bit for bit (but for the
// -0 that ALL_REDUCE_BF16 loses). Pure; any thread. INVALID_ARGUMENT when the two spans are not whole rows of equal
// number.
absl::Status DequantizePacked(const Geometry& geometry, absl::Span<const uint8_t> packed, absl::Span<uint16_t> values);
absl::Status DequantizePacked(const v1::Geometry& geometry, absl::Span<const uint8_t> packed,
                              absl::Span<uint16_t> values);

}  // namespace engram

#endif  // ENGRAM_CLIENT_DEQUANTIZE_H_
