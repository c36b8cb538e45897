// One stream of a run: a Client, a thread, a profile.

#ifndef ENGRAM_CLIENT_LOAD_STREAM_H_
#define ENGRAM_CLIENT_LOAD_STREAM_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "client/client.h"
#include "client/load/answer_checks.h"
#include "client/load/answer_inbox.h"
#include "client/load/arrivals.h"
#include "client/load/options.h"
#include "client/load/profile.h"
#include "client/load/scoreboard.h"

namespace engram {

// What the streams of a run have in common; outlives them. What is not const is set before they run.
struct LoadShared {
  const LoadOptions& options;  // completed
  const v1::Model& model;
  const uint64_t token_rows;   // of one token, all layers
  const uint64_t token_bytes;  // of those rows
  LoadTime begin;              // of the run
  LoadTime end;                // no step starts afterwards
  Scoreboard* scoreboard = nullptr;
  AnswerChecks* checks = nullptr;  // may stay null: none
};

// Life cycle: Connect, AwaitConnected, Run on a thread of its own; Stop and the gauges from any thread; destroy after
// Run.
//
// A failed step is not sent again; its sessions go on behind it, as a model server's would. In a closed loop the stream
// rests for 10 ms after a failure, so that a server that refuses everything is not asked as fast as it can refuse.
class RunStream {
 public:
  // `arrivals`: none in a closed loop.
  RunStream(const LoadShared& shared, size_t number, std::unique_ptr<LoadProfile> profile, Arrivals arrivals);

  void Connect();
  // Errors of Client::AwaitModel.
  absl::Status AwaitConnected();
  void Run();
  // No further steps; those under way have until `give_up`.
  void Stop(LoadTime give_up);

  uint64_t in_flight() const { return in_flight_.load(std::memory_order_relaxed); }
  uint64_t due() const { return due_.load(std::memory_order_relaxed); }
  // After Run.
  uint64_t reconnections() const { return reconnections_; }
  std::optional<LoadTime> oldest_due() const { return oldest_due_; }

 private:
  struct Flight {
    LoadStep step;
    LoadTime intended;
    LoadTime sent;
    bool check = false;
    bool interrupted = false;          // its connection was given up
    LoadTime cancel_at;                // max(): not
    std::optional<StepFuture> future;  // of one to be cancelled; its answer comes by no callback
  };
  using Flights = std::map<uint64_t, Flight>;

  bool Over(LoadTime now) const;
  LoadTime NextEvent(LoadTime now) const;
  LoadTime NextCancel() const;
  void SubmitDue(LoadTime now);
  void Submit(LoadStep step, std::optional<LoadTime> intended);
  absl::Status Send(uint64_t id, Flight& flight, TrackedStep step);
  void CancelDue(LoadTime now);
  void BreakOff();
  void Reconnect(LoadTime now);
  void Settle(LoadAnswer answer, bool timed);
  void Settle(const Flight& flight, const LoadAnswer& answer, bool timed);
  void TakeAnswers(LoadTime until);
  void Drain();
  LoadTime DrawReconnect(LoadTime now);
  void UpdateDue(LoadTime now);

  const LoadShared& shared_;
  const LoadOptions& options_;
  const size_t number_;
  const std::unique_ptr<LoadProfile> profile_;

  AnswerInbox inbox_;  // the client's callbacks reach it: outlives the client
  std::unique_ptr<Client> client_;
  std::atomic<bool> stop_{false};
  std::atomic<LoadTime> give_up_{LoadTime::max()};
  std::atomic<uint64_t> in_flight_{0};
  std::atomic<uint64_t> due_{0};

  // Of the stream's thread.
  LoadRandom random_;
  Arrivals arrivals_;
  std::optional<IntendedStarts> starts_;  // none in a closed loop
  Flights flights_;
  uint64_t last_flight_ = 0;
  uint64_t dropped_ = 0;  // told to the scoreboard
  LoadTime rest_until_;
  LoadTime reconnect_at_ = LoadTime::max();
  absl::Duration latency_;  // of the last step that was answered
  uint64_t reconnections_ = 0;
  std::optional<LoadTime> oldest_due_;  // at the end
};

}  // namespace engram

#endif  // ENGRAM_CLIENT_LOAD_STREAM_H_
