// Validation of what concerns a whole step: everything that is refused before any segment is looked at.

#ifndef ENGRAM_SERVER_STEP_CHECK_H_
#define ENGRAM_SERVER_STEP_CHECK_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engram/v1/engram.pb.h"
#include "model/geometry.h"
#include "server/step.h"

namespace engram {

// What a stream still has room for when a step arrives.
struct StepRoom {
  uint64_t steps_free = 0;
  uint64_t steps_max = 0;  // for messages
  uint64_t bytes_free = 0;
  uint64_t bytes_max = 0;
  uint64_t tokens_max = 0;  // step_tokens_max, or lookup_tokens_max: long look-back counts
  const char* tokens_max_name = "step_tokens_max";
  // Of the segment that `place` names; absent: it is none of this stream.
  std::optional<uint64_t> segment_bytes = std::nullopt;
};

// Tokens of a segment that have rows in the answer.
uint64_t AnsweredTokens(const v1::Segment& segment, bool omit_masked_rows);

// RESOURCE_EXHAUSTED naming segments_max where a step has more segments.
absl::Status CheckSegmentCount(uint64_t count, const v1::Limits& limits);

// Checks steps against one model. The arguments must outlive it. Immutable, thread-safe.
class StepCheck {
 public:
  StepCheck(const Geometry& geometry, const v1::Model& model) : geometry_(geometry), model_(model) {}

  // Numbers of segments, of closes and of tokens: RESOURCE_EXHAUSTED naming the limit; a close of session 0:
  // INVALID_ARGUMENT.
  absl::Status Counts(const v1::StepRequest& request, const StepRoom& room) const;

  // The layers asked for as indices into Geometry.layer_ids, ascending by decoder layer id. INVALID_ARGUMENT for one
  // that is no Engram layer or there twice.
  absl::StatusOr<std::vector<size_t>> Layers(const v1::StepRequest& request) const;

  // Format, unique_rows and table_version: FAILED_PRECONDITION for what this server does not serve, INVALID_ARGUMENT
  // for no format, or for unique_rows without rows.
  absl::Status Served(const v1::StepRequest& request) const;

  // INVALID_ARGUMENT for a place in a segment that is not registered, or where the rows of `step`, whose format and
  // layers are filled in, do not fit with all segments of the request.
  absl::Status Place(const v1::StepRequest& request, const StepRoom& room, const Step& step) const;

  // RESOURCE_EXHAUSTED unless the stream has room for `step`, whose format and layers are filled in, with all segments
  // of the request.
  absl::Status Room(const v1::StepRequest& request, const StepRoom& room, const Step& step) const;

  // Bytes of rows (or hash ids) that `tokens` tokens of this step are answered with; the largest number on overflow.
  uint64_t OwedBytes(const Step& step, uint64_t tokens) const;

 private:
  uint64_t RequestedBytes(const v1::StepRequest& request, const Step& step) const;

  const Geometry& geometry_;
  const v1::Model& model_;
};

}  // namespace engram

#endif  // ENGRAM_SERVER_STEP_CHECK_H_
