// Random operations on several streams, one after another, each checked against the protocol model at once.

#ifndef ENGRAM_TESTS_SIM_SEQUENTIAL_RUN_H_
#define ENGRAM_TESTS_SIM_SEQUENTIAL_RUN_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/sim/protocol_model.h"
#include "tests/sim/random_traffic.h"
#include "tests/sim/simulator.h"

namespace engram {

// Nothing here is left to chance but the seed: events, rounds and the clock move when an operation says so. Hence the
// code of every step is known before it is answered.
class SequentialRun {
 public:
  SequentialRun(const SimModel& sim, uint64_t seed);

  void Go(int operations);
  // Answers everything, ends all streams, and looks for what is left.
  void End();

  // How often each code ended a step, and a segment.
  std::map<absl::StatusCode, int> step_codes;
  std::map<absl::StatusCode, int> segment_codes;

 private:
  struct SentStep {
    v1::StepRequest request;
    ModelAnswer answer;
    std::optional<absl::StatusCode> fate;  // decided; else AnswerCode
    absl::Time deadline = absl::InfiniteFuture();
    bool under_way = false;  // in the scheduler
    uint64_t owed_bytes = 0;
    std::vector<v1::StepReply> frames;
  };
  struct Stream {
    std::shared_ptr<SimStream> wire;
    std::string client;  // in the model's words
    bool is_private = false;
    uint64_t number = 0;
    uint64_t last_step_id = 0;
    bool welcomed = false;
    bool held = false;     // the client does not read
    bool closing = false;  // half-closed
    absl::StatusCode end = absl::StatusCode::kOk;
    std::map<uint64_t, SentStep> steps;  // without a last frame so far
  };

  void One();
  void Open(Stream& stream, const std::string& client);
  void Send(Stream& stream);
  void CancelStep(Stream& stream);
  void Hold(Stream& stream);
  void HalfClose(Stream& stream);
  void Break(Stream& stream);
  void RunEngine(bool everything);
  void ChangeBadRows();
  void TurnGate();

  // Runs all events, then takes and checks what arrived.
  void Settle();
  void Take(Stream& stream);
  void TakeReply(Stream& stream, const v1::StepReply& frame);
  void Answered(const SentStep& step);
  void EndUnderWay(Stream& stream);
  absl::StatusCode AnswerCode(const SentStep& step) const;
  ModelRoom RoomOf(const Stream& stream) const;
  void SendMessage(Stream& stream, const v1::ClientMessage& message) { stream.wire->Send(message, now_); }

  const SimModel& sim_;
  Simulator server_;
  ProtocolModel model_;
  RandomTraffic traffic_;
  std::vector<Stream> streams_;
  std::vector<ModelAnswer> orphans_;  // of broken streams: under way until the next round
  absl::Time now_ = absl::UnixEpoch();
  bool gate_closed_ = false;
  uint64_t streams_opened_ = 0;
};

}  // namespace engram

#endif  // ENGRAM_TESTS_SIM_SEQUENTIAL_RUN_H_
