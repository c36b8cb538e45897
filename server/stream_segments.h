// The shared memory of one stream, and what of it each step fills.

#ifndef ENGRAM_SERVER_STREAM_SEGMENTS_H_
#define ENGRAM_SERVER_STREAM_SEGMENTS_H_

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>

#include "absl/status/status.h"
#include "engram/v1/engram.pb.h"
#include "server/mapped_segment.h"
#include "server/reply_frame.h"

namespace engram {

// Where the rows of one step go. The frames of a step are taken one after another, by whichever thread; then the memory
// is the client's again.
class PlacedRows {
 public:
  // From `offset` on the segment must have room for all that the step owes.
  PlacedRows(std::shared_ptr<MappedSegment> segment, uint64_t offset) : segment_(std::move(segment)), next_(offset) {}

  // Moves the frame's payload into the segment and ends its lease but for a token charge; `head` tells where. Once a
  // write has failed, frames lose their rows, and the last one, unless it has another failure to tell, says DATA_LOSS.
  void Take(ReplyFrame& frame);

 private:
  const std::shared_ptr<MappedSegment> segment_;
  uint64_t next_;
  absl::Status lost_;
};

// The segments that the client of one stream has registered. Not thread-safe.
class StreamSegments {
 public:
  // What SegmentReply says. FAILED_PRECONDITION where the configuration has not enabled it; INVALID_ARGUMENT for an id
  // that is 0 or taken; RESOURCE_EXHAUSTED past segments_max; else as MappedSegment::Open.
  absl::Status Register(const v1::RegisterSegment& request, const SegmentRules& rules);
  // Null for an id that was not registered.
  std::shared_ptr<MappedSegment> Find(uint32_t segment_id) const;
  void Clear() { segments_.clear(); }

 private:
  std::unordered_map<uint32_t, std::shared_ptr<MappedSegment>> segments_;
};

}  // namespace engram

#endif  // ENGRAM_SERVER_STREAM_SEGMENTS_H_
