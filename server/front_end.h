// Rank 0: the gRPC front end around the engine thread, from loading to the last answer.

#ifndef ENGRAM_SERVER_FRONT_END_H_
#define ENGRAM_SERVER_FRONT_END_H_

#include <atomic>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "engram/v1/config.pb.h"
#include "model/files/checkpoint.h"
#include "model/mutex.h"
#include "server/admission.h"
#include "server/grpc/grpc_server.h"
#include "server/process_files.h"
#include "server/scheduler.h"
#include "server/session_store.h"
#include "server/step_gate.h"
#include "shard/engine.h"

namespace engram {

// Life cycle: construct, Run once on the engine thread, destroy. A stop signal drains while serving and ends the job at
// once while it loads, when nothing is admitted yet.
class FrontEnd {
 public:
  // All arguments but `options` must outlive it; `config` is complete and validated for the checkpoint. The progress of
  // loading goes to clients, not to `options`.
  FrontEnd(Job& job, const v1::ServerConfig& config, const Checkpoint& checkpoint, EngineOptions options);

  // Listens, loads, checks, serves, until a stop signal has drained it: OK. Otherwise why the job cannot go on; clients
  // were told by then.
  absl::Status Run();

 private:
  absl::Status Listen();
  absl::StatusOr<std::unique_ptr<Engine>> Load();
  absl::Status Announce();
  void OnStopSignal(int signal);
  // With the scheduler's turn.
  void OnStepFailure(const absl::Status& status);
  void Drain();
  // Before an Abort, which runs no destructor.
  void RemoveFiles();
  void TellLoss(const absl::Status& lost, Engine& engine);
  void LogCounters();

  Job& job_;
  const v1::ServerConfig& config_;
  const Checkpoint& checkpoint_;
  const EngineOptions options_;
  const v1::Model model_;

  SessionStore sessions_;
  const Admission admission_;
  StepGate gate_;
  Scheduler scheduler_;
  std::unique_ptr<GrpcServer> grpc_;
  AnnouncementFile port_file_;
  AnnouncementFile pid_file_;
  Mutex mu_;
  bool serving_ ABSL_GUARDED_BY(mu_) = false;  // nothing is admitted before
  std::atomic<bool> stop_{false};              // ends the engine loop
  bool damaged_ = false;                       // set with the scheduler's turn: a table was not what it was
};

}  // namespace engram

#endif  // ENGRAM_SERVER_FRONT_END_H_
