// What all RPCs share.

#ifndef ENGRAM_SERVER_SERVICE_CONTEXT_H_
#define ENGRAM_SERVER_SERVICE_CONTEXT_H_

#include <cstdint>

#include "absl/time/time.h"
#include "engram/v1/engram.pb.h"
#include "server/admission.h"
#include "server/mapped_segment.h"
#include "server/scheduler.h"
#include "server/session_store.h"
#include "server/step_gate.h"

namespace engram {

// References to thread-safe parts that outlive the server.
struct ServiceContext {
  const v1::Model& model;
  const Admission& admission;
  SessionStore& sessions;
  StepGate& gate;
  Scheduler& scheduler;
  uint32_t streams_max;
  absl::Duration hello_timeout = absl::InfiniteDuration();
  SegmentRules segments = {};
};

}  // namespace engram

#endif  // ENGRAM_SERVER_SERVICE_CONTEXT_H_
