// A client's thread: opens one stream after another, sends random steps, reads as its wire allows, cancels, goes away.

#ifndef ENGRAM_TESTS_SIM_CLIENT_RUN_H_
#define ENGRAM_TESTS_SIM_CLIENT_RUN_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/protocol_model.h"
#include "tests/sim/random_traffic.h"
#include "tests/sim/simulator.h"

namespace engram {

struct ClientOptions {
  int streams = 20;         // or until the server takes no more
  uint64_t steps_max = 30;  // of a stream
  bool private_only = false;
  uint64_t cancel_one_in = 5;  // streams whose call is cancelled at a random moment
  absl::Duration cancel_after_max = absl::Milliseconds(3);
  absl::Duration wire_delay_max = absl::Microseconds(300);
  bool outage = false;  // the server may drain or lose a rank: UNAVAILABLE is an answer, and a stream's end
};

// Sends without waiting, so what a step is answered with is known only afterwards: when a stream is done, its steps are
// replayed in order through the protocol model. Sessions belong to one stream at a time. Failures are gtest's.
class ClientRun {
 public:
  ClientRun(const SimModel& sim, Simulator& server, uint64_t seed, const ClientOptions& options);

  // What all clients may fork from. Once, before any of them runs.
  static void WriteShared(const SimModel& sim, Simulator& server);

  void Go();
  // Of named clients.
  void CloseSessions();

  std::map<absl::StatusCode, int> step_codes;
  int streams_cut = 0;  // cancelled before they ended

 private:
  static constexpr uint64_t kModelStream = 1;  // one at a time, so it is always the same one

  struct Stream {
    std::shared_ptr<SimStream> wire;
    std::string client;
    bool never_reads = false;
    bool cancelled = false;
    bool drain_heard = false;
    std::map<uint64_t, v1::StepRequest> sent;
    std::map<uint64_t, std::vector<v1::StepReply>> frames;
    std::set<uint64_t> cancelled_steps;
    std::set<uint64_t> sent_after_drain;
    size_t answered = 0;  // last frames
  };

  bool Open(Stream& stream);
  void Use(Stream& stream);
  void SendStep(Stream& stream, uint64_t step_id);
  void Receive(Stream& stream);
  void Leave(Stream& stream);
  // Replays the stream's steps; false when it is not known how far they got.
  bool Check(const Stream& stream);
  std::string WrongWithStep(const Stream& stream, const v1::StepRequest& request);
  bool IsAllowed(const Stream& stream, const v1::StepRequest& request, const ModelAnswer& expected,
                 absl::StatusCode code) const;

  const SimModel& sim_;
  Simulator& server_;
  const ClientOptions options_;
  RandomTraffic traffic_;
  ProtocolModel model_;  // what was answered so far
  ProtocolModel hopes_;  // had every step been taken: where the next ones go
  std::string name_;
  uint64_t names_ = 0;
  const uint64_t seed_;
  std::vector<std::string> named_;
};

}  // namespace engram

#endif  // ENGRAM_TESTS_SIM_CLIENT_RUN_H_
