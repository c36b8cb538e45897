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
#include "server/session_store.h"
#include "server/step.h"

namespace engram {

// What a stream still has room for when a step arrives.
struct StepRoom {
  uint64_t steps_free = 0;
  uint64_t steps_max = 0;  // for messages
  uint64_t bytes_free = 0;
  uint64_t bytes_max = 0;
  uint64_t tokens_max = 0;         // step_tokens_max, or lookup_tokens_max
  const char* tokens_max_name = "step_tokens_max";
};

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

  // Checks, in this order: the step's own fields (each a whole-step refusal, nothing changed), room, then every segment.
  // A refused segment changes nothing, has its code in Step.results and takes no part further on. close_sessions applies
  // last. The returned status is the step's own code: INVALID_ARGUMENT, FAILED_PRECONDITION or RESOURCE_EXHAUSTED.
  absl::StatusOr<Step> Admit(const StepOrigin& origin, const v1::StepRequest& request, const StepRoom& room,
                             absl::Time arrival) const;

  // Whether a Hello fits this server; FAILED_PRECONDITION or INVALID_ARGUMENT otherwise.
  absl::Status CheckHello(const v1::Hello& hello) const;

 private:
  const Geometry& geometry_;
  const HashConstants& constants_;
  const v1::Model& model_;
  SessionStore& sessions_;
};

}  // namespace engram

#endif  // ENGRAM_SERVER_ADMISSION_H_
