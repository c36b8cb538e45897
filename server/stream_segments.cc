#include "server/stream_segments.h"

#include "absl/strings/str_cat.h"

namespace engram {

void PlacedRows::Take(ReplyFrame& frame) {
  const uint64_t bytes = frame.payload.size();
  if (bytes > 0 && lost_.ok()) lost_ = segment_->Write(next_, {frame.payload.data(), bytes});
  if (bytes > 0) frame.payload.ReleaseBuffer();
  if (!lost_.ok()) {
    ForgetRows(frame.head);
    // A session that could not be closed (ABORTED) matters less than rows that are not there.
    const auto code = static_cast<absl::StatusCode>(frame.head.code());
    const bool served = code == absl::StatusCode::kOk || code == absl::StatusCode::kAborted;
    if (frame.last() && served) SetOutcome(lost_, frame.head);
    return;
  }
  if (bytes == 0) return;
  frame.head.set_place_offset(next_);
  frame.head.set_place_bytes(bytes);
  next_ += bytes;
}

absl::Status StreamSegments::Register(const v1::RegisterSegment& request, const SegmentRules& rules) {
  if (!rules.enabled) {
    return absl::FailedPreconditionError("shared_memory.enabled = false: this server takes no segments");
  }
  const uint32_t id = request.segment_id();
  if (id == 0) return absl::InvalidArgumentError("segment_id = 0: must be another number");
  if (segments_.count(id) > 0) {
    return absl::InvalidArgumentError(absl::StrCat("segment_id = ", id, ": registered on this stream already"));
  }
  if (segments_.size() >= rules.segments_max) {
    return absl::ResourceExhaustedError(absl::StrCat("segment_id = ", id, ": ", segments_.size(),
                                                     " are registered on this stream, shared_memory.segments_max is ",
                                                     rules.segments_max));
  }
  absl::StatusOr<std::shared_ptr<MappedSegment>> segment = MappedSegment::Open(request.name(), request.bytes(), rules);
  if (!segment.ok()) return segment.status();
  segments_.emplace(id, *std::move(segment));
  return absl::OkStatus();
}

std::shared_ptr<MappedSegment> StreamSegments::Find(uint32_t segment_id) const {
  const auto found = segments_.find(segment_id);
  return found == segments_.end() ? nullptr : found->second;
}

}  // namespace engram
