// What the GPU does for a round: gather rows, put them where they were asked for, dequantise, make NaNs alike, hash.
//
// A Launch puts a kernel on the stream (LaunchPlace one for each form) and returns; nothing is waited for, nothing
// allocated: all can be captured into a graph. Pointers in the arguments are the device's and must live
// until the stream has passed. INVALID_ARGUMENT names an argument that no launch can have; what CUDA refuses has the
// codes of api.h. Zero rows are ordinary and launch nothing. Thread-safe as CUDA is.
//
// A packed row is head_dim codes, then head_dim/32 scales; head_dim is a positive multiple of 32 up to 65536. Rows of
// an output lie without gaps and without any alignment; nothing outside of them is written.

#ifndef ENGRAM_SHARD_GPU_KERNELS_H_
#define ENGRAM_SHARD_GPU_KERNELS_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "model/ngram_hash.h"
#include "shard/engine.h"
#include "shard/gpu/api.h"
#include "shard/gpu/device_rows.h"

namespace engram {

enum class UnownedRows {
  kZero,   // written as zeros, whatever the tables hold: the other ranks' parts are added
  kLeave,  // not written at all
};

struct GatherArgs {
  const DeviceRows* layers = nullptr;  // [layer_count]; entries of other layers are nobody's rows
  uint32_t layer_count = 0;            // at least 1
  uint32_t head_dim = 0;
  const uint64_t* entries = nullptr;  // [rows]: layer index and row, as shard/row_plan.h has them
  uint64_t rows = 0;
  RowForm form = RowForm::kPacked;
  UnownedRows unowned = UnownedRows::kZero;
  uint8_t* out = nullptr;  // [rows] in `form`
};
absl::Status LaunchGather(const GatherArgs& args, cudaStream_t stream);

struct DequantizeArgs {
  const uint8_t* packed = nullptr;  // [rows] packed
  uint64_t rows = 0;
  uint32_t head_dim = 0;
  uint8_t* out = nullptr;  // [rows] bf16
};
absl::Status LaunchDequantize(const DequantizeArgs& args, cudaStream_t stream);

// Requests [begin_request, the next block's begin_request) of a round.
struct PlaceBlock {
  uint64_t begin_request = 0;
  RowForm form = RowForm::kPacked;
  uint8_t* out = nullptr;  // the block's rows in `form`; request begin_request comes first
};

// What a launch must know of its blocks and cannot read from the device's memory.
struct PlaceShape {
  uint32_t alignment = 16;  // divides every block's out: 1, 2, 4, 8 or 16
  bool packed = false;      // some block has this form
  bool bf16 = false;
};

// `blocks` is the host's copy.
inline PlaceShape ShapeOf(absl::Span<const PlaceBlock> blocks) {
  PlaceShape shape;
  uint64_t bits = shape.alignment;
  for (const PlaceBlock& block : blocks) {
    bits |= reinterpret_cast<uintptr_t>(block.out);
    (block.form == RowForm::kPacked ? shape.packed : shape.bf16) = true;
  }
  shape.alignment = static_cast<uint32_t>(bits & (~bits + 1));  // the lowest bit
  return shape;
}

// Rows sorted by owner, back to the order of the requests.
struct PlaceArgs {
  const uint8_t* packed = nullptr;  // [rows] packed
  uint64_t rows = 0;
  uint32_t head_dim = 0;
  const uint32_t* requests = nullptr;  // [rows]: row i is request number requests[i], counted over all blocks
  const PlaceBlock* blocks = nullptr;  // [block_count], ascending; the first begins at 0, the last has no end
  uint32_t block_count = 0;            // at least 1 where there are rows
  PlaceShape shape;
};
absl::Status LaunchPlace(const PlaceArgs& args, cudaStream_t stream);

// NaNs of any kind become kBf16Nan, in place: behind a sum, whose NaNs are the device's own.
struct CanonicalNanArgs {
  uint16_t* values = nullptr;  // [count] bf16, 16-byte aligned
  uint64_t count = 0;          // a multiple of 8, as any number of rows is
};
absl::Status LaunchCanonicalNan(const CanonicalNanArgs& args, cudaStream_t stream);

// Consecutive positions of one sequence: output rows [row_begin, the next segment's row_begin), the last one up to
// HashArgs.tokens.
struct HashSegment {
  uint64_t window_begin = 0;  // in HashArgs.windows: `lookback` ids before the first position, then the positions
  uint64_t row_begin = 0;
  uint32_t lookback = 0;  // as NgramHasher::Hash takes it: below G, fewer than G-1 only where the sequence begins
  uint32_t layer_index = 0;
};

enum class HashOutput { kIds, kEntries };  // row ids, or entries as LaunchGather takes them

// NgramHasher::Hash for many segments.
struct HashArgs {
  const int32_t* windows = nullptr;       // compressed ids, kDead = dead
  const HashSegment* segments = nullptr;  // [segment_count], row_begin ascending from 0
  uint32_t segment_count = 0;             // at least 1 where there are tokens
  uint64_t tokens = 0;                    // of all segments
  uint32_t columns = 0;                   // K = (G-1) * heads
  uint32_t heads = 0;
  int32_t pad_id = 0;
  const uint64_t* multipliers = nullptr;  // [layers, G]: NgramHasher::multipliers()
  const HashColumn* layout = nullptr;     // [layers, K]: NgramHasher::layout()
  HashOutput output = HashOutput::kEntries;
  uint64_t* out = nullptr;  // [tokens, K]
};
absl::Status LaunchHash(const HashArgs& args, cudaStream_t stream);

}  // namespace engram

#endif  // ENGRAM_SHARD_GPU_KERNELS_H_
