#include "server/frame_plan.h"

#include <algorithm>

#include "model/check.h"
#include "model/hash_constants.h"

namespace engram {
namespace {

// Tag and length of one result within StepReply, at most.
constexpr uint64_t kResultFieldBytes = 6;

}  // namespace

uint64_t TokenBytes(const Geometry& geometry, v1::RowFormat format) {
  switch (format) {
    case v1::ROW_FORMAT_BF16:
      return uint64_t{geometry.columns()} * geometry.bf16_row_bytes();
    case v1::ROW_FORMAT_HASH_IDS:
      return uint64_t{geometry.columns()} * sizeof(uint64_t);
    default:
      return uint64_t{geometry.columns()} * geometry.packed_row_bytes();
  }
}

uint64_t PayloadBytesMax(const Step& step, FrameLimits limits) {
  const uint64_t sent = std::min(limits.frame_bytes_max - kFrameFieldsBytes, limits.round_bytes_max);
  return step.placed ? std::max(sent, limits.round_bytes_max / 2) : sent;
}

FramePlan::FramePlan(const Step& step, const Geometry& geometry, FrameLimits limits)
    : step_(step),
      token_bytes_(TokenBytes(geometry, step.format)),
      payload_bytes_max_(PayloadBytesMax(step, limits)),
      frame_bytes_max_(limits.frame_bytes_max),
      layers_(step.segments.empty() ? 0 : step.layer_indices.size()),
      message_follows_(!step.close_status.ok()) {
  ENGRAM_CHECK(payload_bytes_max_ >= token_bytes_);
  Compute();
}

void FramePlan::Pop() {
  ENGRAM_CHECK(!done_);
  done_ = next_.last;
  if (!done_) Compute();
}

void FramePlan::DropRows() {
  ENGRAM_CHECK(!done_);
  results_next_ = next_.results_begin;  // what the frame at hand would have taken
  layers_ = 0;
  Compute();
}

void FramePlan::Compute() {
  next_ = Frame{};
  TakeResults();
  if (results_next_ < step_.results.size() || !rows_remain()) {
    next_.last = results_next_ == step_.results.size() && !rows_remain();
    return;
  }
  size_t end = 0;
  const uint64_t results_bytes = ResultsBytes(next_.results_begin, frame_bytes_max_, end);
  // Results that would crowd out the rows go ahead alone.
  if (next_.has_results() && results_bytes + token_bytes_ > payload_bytes_max_ / 2) return;
  TakeTokens(payload_bytes_max_ - (next_.has_results() ? results_bytes : 0));
  AdvancePast(next_);
  next_.last = !rows_remain() && !message_follows_;
}

// A quarter of a frame at a time: there is room left for a few rows, or for a step's message.
void FramePlan::TakeResults() {
  next_.results_begin = results_next_;
  ResultsBytes(results_next_, frame_bytes_max_ / 4, results_next_);
  next_.results_end = results_next_;
}

// Bytes of the results from `begin` on, as many as fit into `bytes_max` but at least one; `end`: behind the last of
// them.
uint64_t FramePlan::ResultsBytes(size_t begin, uint64_t bytes_max, size_t& end) const {
  uint64_t bytes = 0;
  size_t i = begin;
  for (; i < step_.results.size(); ++i) {
    const uint64_t more = step_.results[i].ByteSizeLong() + kResultFieldBytes;
    if (i > begin && bytes + more > bytes_max) break;
    bytes += more;
  }
  end = i;
  return bytes;
}

void FramePlan::TakeTokens(uint64_t room_bytes) {
  const uint64_t rows_max = std::max<uint64_t>(room_bytes / token_bytes_, 1);
  next_.layer_index = step_.layer_indices[layer_];
  next_.segment = segment_;
  next_.offset = offset_;
  next_.token_begin = step_.segments[segment_].token_begin + offset_;
  uint64_t offset = offset_;
  for (size_t s = segment_; s < step_.segments.size(); ++s) {
    const StepSegment& segment = step_.segments[s];
    // Tokens of a refused segment lie in between: no frame may cover them.
    if (segment.token_begin + offset != next_.token_begin + next_.token_count) break;
    const uint64_t taken = TakeFromSegment(segment, offset, rows_max);
    if (offset + taken < segment.tokens()) break;
    offset = 0;
  }
  next_.payload_bytes = next_.rows * token_bytes_;
}

uint64_t FramePlan::TakeFromSegment(const StepSegment& segment, uint64_t offset, uint64_t rows_max) {
  const uint64_t available = segment.tokens() - offset;
  if (!step_.omit_masked_rows) {
    const uint64_t taken = std::min(available, rows_max - next_.rows);
    next_.rows += taken;
    next_.token_count += taken;
    return taken;
  }
  uint64_t taken = 0;
  for (; taken < available; ++taken) {
    const bool masked = segment.window[segment.lookback + offset + taken] == kDead;
    if (!masked && next_.rows == rows_max) break;
    next_.rows += masked ? 0 : 1;
  }
  next_.token_count += taken;
  return taken;
}

void FramePlan::AdvancePast(const Frame& frame) {
  uint64_t left = frame.token_count;
  while (left > 0) {
    const uint64_t taken = std::min(left, step_.segments[segment_].tokens() - offset_);
    left -= taken;
    offset_ += taken;
    if (offset_ < step_.segments[segment_].tokens()) continue;
    offset_ = 0;
    ++segment_;
  }
  if (segment_ < step_.segments.size()) return;
  segment_ = 0;
  ++layer_;
}

}  // namespace engram
