#include "client/seeded_segment.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace engram {
namespace {

uint64_t LookbackOf(uint64_t position, const Geometry& geometry) {
  return std::min<uint64_t>(position, geometry.max_ngram_size - 1);
}

// Puts the state and the tokens that follow it before the segment's own.
void Replay(const v1::Segment& seed, v1::Segment& segment) {
  v1::Segment whole = seed;
  whole.set_session_id(segment.session_id());
  whole.mutable_token_ids()->MergeFrom(segment.token_ids());
  std::string mask = segment.token_mask();
  if (mask.empty()) mask.assign(static_cast<size_t>(segment.token_ids_size()), 1);
  whole.mutable_token_mask()->append(mask);  // one of the wrong length stays so, to be refused
  segment = std::move(whole);
}

uint64_t TokensBefore(const v1::StepRequest& request, int segment) {
  uint64_t tokens = 0;
  for (int i = 0; i < segment; ++i) tokens += static_cast<uint64_t>(request.segments(i).token_ids_size());
  return tokens;
}

// INVALID_ARGUMENT is what a server says of a look-back that is too short.
void ExplainTooFew(const SeededSegment& sent, StepResult& result) {
  const auto index = static_cast<size_t>(sent.index);
  if (sent.too_few.empty() || index >= result.segments.size()) return;
  v1::SegmentResult& refused = result.segments[index];
  if (refused.code() != static_cast<int>(absl::StatusCode::kInvalidArgument)) return;
  refused.set_code(static_cast<int>(absl::StatusCode::kFailedPrecondition));
  refused.set_message(sent.too_few);
}

}  // namespace

bool IsKnown(const TrackedSegment& tracked, uint64_t start, const Geometry& geometry, uint64_t link) {
  return tracked.view->Knows(link, tracked.edit - 1, start - LookbackOf(start, geometry));
}

SeededSegment SeedSegment(const TrackedSegment& tracked, const v1::StepRequest& callers, const Geometry& geometry,
                          uint64_t link, v1::StepRequest& request) {
  v1::Segment& segment = *request.mutable_segments(tracked.index);
  const uint64_t start = segment.start_pos();
  const uint64_t needed = LookbackOf(start, geometry);
  SeededSegment sent{tracked.index, tracked.view, tracked.edit, start - needed, false, 0, 0, ""};
  if (IsKnown(tracked, start, geometry, link)) return sent;
  sent.seeded = true;
  if (start == 0) return sent;
  if (tracked.seed.has_state()) {
    Replay(tracked.seed, segment);
    sent.begin = segment.start_pos() - LookbackOf(segment.start_pos(), geometry);
    sent.replayed = static_cast<uint64_t>(tracked.seed.token_ids_size());
    sent.token = TokensBefore(callers, tracked.index);
    return sent;
  }
  const v1::Lookback& lookback = tracked.seed.lookback();
  const auto kept = static_cast<uint64_t>(lookback.token_ids_size());
  const auto surplus =
      static_cast<std::ptrdiff_t>(kept - std::min(kept, needed));  // more would count as the step's own
  segment.mutable_lookback()->mutable_token_ids()->Add(lookback.token_ids().begin() + surplus,
                                                       lookback.token_ids().end());
  segment.mutable_lookback()->set_token_mask(lookback.token_mask().substr(static_cast<size_t>(surplus)));
  if (kept < needed) {
    sent.too_few = absl::StrCat("session ", segment.session_id(), " at position ", start,
                                ": the server may not know it, and ", kept, " of the ", needed,
                                " tokens before it are kept: TrackedSessionOptions.lookback must be at least ",
                                geometry.max_ngram_size - 1, " for this model");
  }
  return sent;
}

void TakeSeedsOut(const std::vector<SeededSegment>& segments, StepResult& result) {
  for (const SeededSegment& sent : segments) {
    ExplainTooFew(sent, result);
    // Earlier replays are gone by now, so that the caller's numbers hold.
    for (LayerRows& rows : result.layers) rows.Drop(sent.token, sent.token + sent.replayed);
  }
}

}  // namespace engram
