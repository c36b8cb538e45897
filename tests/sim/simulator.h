// The server path in one process: everything of an engram-server but gRPC and MPI.

#ifndef ENGRAM_TESTS_SIM_SIMULATOR_H_
#define ENGRAM_TESTS_SIM_SIMULATOR_H_

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "server/admission.h"
#include "server/scheduler.h"
#include "server/service_context.h"
#include "server/session_store.h"
#include "server/step_gate.h"
#include "server/stream_registry.h"
#include "tests/sim/faulty_engine.h"
#include "tests/sim/sim_model.h"
#include "tests/sim/sim_stream.h"

namespace engram {

struct SimOptions {
  int ranks = 3;
  int reaction_threads = 0;  // 0: the test runs events and rounds itself
  uint64_t unsent_bytes_max = uint64_t{1} << 30;
  int64_t queue_steps_max = 1 << 20;
  uint32_t streams_max = 1 << 20;
};

// Life cycle: construct, StartEngine (or Rounds by hand, on one thread), Open streams, Stop, destroy when every stream
// is done.
class Simulator {
 public:
  Simulator(const SimModel& sim, const SimOptions& options);
  ~Simulator();

  // Null and the reason where the registry refuses it.
  absl::StatusOr<std::shared_ptr<SimStream>> Open(const SimWire& wire = {});

  // The engine thread: ranks, and RunEngineLoop until Stop or the loss of a rank, which is told as FrontEnd does.
  void StartEngine();
  void Stop();
  absl::Status loop_status() const { return loop_status_; }  // after Stop

  // By hand: rounds until there is nothing to do, or `rounds_max` of them.
  void Rounds(absl::Time now, int rounds_max);

  // As at a stop signal: no more steps, Drain told, every stream ended within `timeout`.
  bool Drain(absl::Duration timeout);

  // What is left when all streams are done; waits for it. Empty, or what is not zero.
  std::string Leftovers(absl::Duration wait);

  Reactions& reactions() { return reactions_; }
  StepGate& gate() { return gate_; }
  SessionStore& sessions() { return sessions_; }
  StreamRegistry& streams() { return streams_; }
  Scheduler& scheduler() { return scheduler_; }
  EngineFaults faults;  // set before the engine starts, but for its atomic members

 private:
  std::unique_ptr<FaultyEngine> MakeEngine();
  void RunEngine();

  const SimModel& sim_;
  const SimOptions options_;
  SessionStore sessions_;
  const Admission admission_;
  StepGate gate_;
  Scheduler scheduler_;
  StreamRegistry streams_;
  const ServiceContext context_;
  std::unique_ptr<FaultyEngine> by_hand_;
  std::atomic<bool> stop_{false};
  absl::Status loop_status_;
  std::thread engine_;
  Reactions reactions_;  // ends first
};

}  // namespace engram

#endif  // ENGRAM_TESTS_SIM_SIMULATOR_H_
