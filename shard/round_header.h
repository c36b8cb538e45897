// The fixed-size message that opens a round, and what a rank checks before it believes one.

#ifndef ENGRAM_SHARD_ROUND_HEADER_H_
#define ENGRAM_SHARD_ROUND_HEADER_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "absl/status/status.h"
#include "shard/engine.h"

namespace engram {

enum class RoundOp : uint32_t { kGather = 1, kHeartbeat = 2, kStop = 3 };

inline constexpr uint32_t kRoundMagic = 0x4d475245;  // "ERGM"

// One to each rank from the rank that asks. The asker is in it so that any rank can be one.
struct RoundHeader {
  uint32_t magic = kRoundMagic;
  uint32_t asking_rank = 0;
  uint64_t sequence = 0;  // counts the rounds of a job from 1
  RoundOp op = RoundOp::kHeartbeat;
  CombineMode combine = CombineMode::kOwnerGather;
  uint64_t rows = 0;          // of the whole round
  uint64_t rows_of_rank = 0;  // those asked of the receiver alone (OWNER_GATHER)
  // Where the receiver finds them in shared memory (direct_rows.h); no blocks: they come by message.
  uint64_t rows_begin = 0;
  uint64_t direct_blocks = 0;
};
static_assert(std::is_trivially_copyable_v<RoundHeader> && sizeof(RoundHeader) == 56);

inline constexpr uint64_t kDirectBlocksMax = 4096;

// What the receiver knows before a header arrives.
struct RoundExpectation {
  uint64_t sequence = 1;
  CombineMode combine = CombineMode::kOwnerGather;
  uint64_t rows_max = 0;
  size_t ranks = 1;
};

// INTERNAL naming the field, its value and what was expected.
absl::Status ValidateHeader(const RoundHeader& header, const RoundExpectation& expected);

}  // namespace engram

#endif  // ENGRAM_SHARD_ROUND_HEADER_H_
