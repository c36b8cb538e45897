// Admission: validates a step request, then applies its segments to the sessions in request order.

#ifndef ENGRAM_SERVER_ADMISSION_H_
#define ENGRAM_SERVER_ADMISSION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "engram/v1/engram.pb.h"
#include "model/geometry.h"
#include "model/hash_constants.h"
#include "server/segment_check.h"
#include "server/session_store.h"
#include "server/step.h"
#include "server/step_check.h"

namespace engram {

// Who sends it.
struct StepOrigin {
  uint64_t stream_id = 0;  // unique in this process
  std::string client;      // session name space
};

// Immutable after construction but for the session store; thread-safe.
class Admission {
 public:
  // All arguments must outlive it. `model` carries formats, limits, digests and table_version as announced.
  Admission(const Geometry& geometry, const HashConstants& constants, const v1::Model& model, SessionStore& sessions);

  // Checks, in this order: the step's own fields (each a whole-step refusal, nothing changed), room, then every
  // segment. A refused segment changes nothing, has its code in Step.results and takes no part further on.
  // close_sessions applies last; one that another stream has in flight is reported in Step.close_status. The returned
  // status is the step's own code: INVALID_ARGUMENT, FAILED_PRECONDITION or RESOURCE_EXHAUSTED.
  absl::StatusOr<Step> Admit(const StepOrigin& origin, const v1::StepRequest& request, const StepRoom& room,
                             absl::Time arrival) const;

  // Whether a Hello fits this server; FAILED_PRECONDITION or INVALID_ARGUMENT otherwise.
  absl::Status CheckHello(const v1::Hello& hello) const;

 private:
  // Validates and applies segment `index`; an accepted one is added to the step. OK says which result it has.
  absl::StatusOr<v1::SegmentResult> Apply(const StepOrigin& origin, const v1::StepRequest& request, size_t index,
                                          uint64_t token_begin, Step& step) const;
  void ApplySegments(const StepOrigin& origin, const v1::StepRequest& request, Step& step) const;
  absl::Status CloseSessions(const StepOrigin& origin, const v1::StepRequest& request) const;

  const Geometry& geometry_;
  const v1::Model& model_;
  SessionStore& sessions_;
  const StepCheck step_check_;
  const SegmentCheck segment_check_;
};

}  // namespace engram

#endif  // ENGRAM_SERVER_ADMISSION_H_
