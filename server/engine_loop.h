// What the front end's engine thread does between loading and stopping.

#ifndef ENGRAM_SERVER_ENGINE_LOOP_H_
#define ENGRAM_SERVER_ENGINE_LOOP_H_

#include <atomic>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/scheduler.h"
#include "shard/engine.h"

namespace engram {

// Runs rounds, and a heartbeat whenever the ranks heard nothing for `heartbeat`, until `stop` is set (and the scheduler
// woken) and what is in flight by then is delivered: OK. UNAVAILABLE when a rank was lost; by then every step under way
// has been told, but for those that were admitted meanwhile.
absl::Status RunEngineLoop(Scheduler& scheduler, Engine& engine, absl::Duration heartbeat,
                           const std::atomic<bool>& stop);

// After a loss, once the gate is closed: tells `lost` to the steps that had passed the gate before. Returns when none
// is under way, or after `wait`.
void TellLateSteps(Scheduler& scheduler, Engine& engine, const StepGate& gate, const absl::Status& lost,
                   absl::Duration wait);

}  // namespace engram

#endif  // ENGRAM_SERVER_ENGINE_LOOP_H_
