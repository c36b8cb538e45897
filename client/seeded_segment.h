// A segment of a TrackedSession on its way over one connection, opened there with a seed where it must be.

#ifndef ENGRAM_CLIENT_SEEDED_SEGMENT_H_
#define ENGRAM_CLIENT_SEEDED_SEGMENT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "client/step_result.h"
#include "client/tracked_session.h"
#include "engram/v1/engram.pb.h"
#include "model/geometry.h"

namespace engram {

struct SeededSegment {
  int index = 0;  // of the segment in the request
  std::shared_ptr<ServerView> view;
  uint64_t edit = 0;
  uint64_t begin = 0;     // first position of the look-back
  bool seeded = false;    // else the server was sure to know the session
  uint64_t replayed = 0;  // tokens before its own that are sent once more, behind a state
  uint64_t token = 0;     // where the segment begins in the caller's step; set where tokens are replayed
  std::string too_few;    // what to say when the server refuses it for too short a look-back; empty: long enough
};

// Whether the server of connection `link` is sure to know what stands before a segment that starts at `start`.
bool IsKnown(const TrackedSegment& tracked, uint64_t start, const Geometry& geometry, uint64_t link);

// Seeds the segment in `request`, which begins as a copy of the caller's, unless it IsKnown. Where the client has too
// few tokens for a look-back they are sent all the same, so that this segment alone is refused.
SeededSegment SeedSegment(const TrackedSegment& tracked, const v1::StepRequest& callers, const Geometry& geometry,
                          uint64_t link, v1::StepRequest& request);

// Makes of the server's answer the answer to what the caller asked for: without replayed tokens, and with
// FAILED_PRECONDITION where the look-back was too short. `segments` in request order.
void TakeSeedsOut(const std::vector<SeededSegment>& segments, StepResult& result);

}  // namespace engram

#endif  // ENGRAM_CLIENT_SEEDED_SEGMENT_H_
