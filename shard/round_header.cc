#include "shard/round_header.h"

#include "absl/strings/str_cat.h"

namespace engram {
namespace {

absl::Status Wrong(absl::string_view field, uint64_t value, absl::string_view wanted, uint64_t bound) {
  return absl::InternalError(absl::StrCat("round header: ", field, " is ", value, ", expected ", wanted, bound));
}

}  // namespace

absl::Status ValidateHeader(const RoundHeader& header, const RoundExpectation& expected) {
  if (header.magic != kRoundMagic) return Wrong("magic", header.magic, "", kRoundMagic);
  if (header.asking_rank >= expected.ranks)
    return Wrong("asking rank", header.asking_rank, "less than ", expected.ranks);
  if (header.sequence != expected.sequence) return Wrong("sequence", header.sequence, "", expected.sequence);
  const auto op = static_cast<uint32_t>(header.op);
  if (op < static_cast<uint32_t>(RoundOp::kGather) || op > static_cast<uint32_t>(RoundOp::kStop)) {
    return Wrong("operation", op, "at most ", static_cast<uint32_t>(RoundOp::kStop));
  }
  if (header.combine != expected.combine) {
    return Wrong("combine mode", static_cast<uint64_t>(header.combine), "", static_cast<uint64_t>(expected.combine));
  }
  if (header.rows > expected.rows_max) return Wrong("rows", header.rows, "at most ", expected.rows_max);
  if (header.rows_of_rank > header.rows)
    return Wrong("rows of this rank", header.rows_of_rank, "at most ", header.rows);
  if (header.rows_begin > header.rows - header.rows_of_rank) {
    return Wrong("first row of this rank", header.rows_begin, "at most ", header.rows - header.rows_of_rank);
  }
  if (header.direct_blocks > kDirectBlocksMax) {
    return Wrong("blocks in shared memory", header.direct_blocks, "at most ", kDirectBlocksMax);
  }
  return absl::OkStatus();
}

}  // namespace engram
