#include "tests/sim/sequential_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace engram {
namespace {

using Code = absl::StatusCode;

// Two streams share a client, one owns what others fork from, two are private.
constexpr const char* kClients[] = {"a", "a", "b", kSharedClient, "", ""};

}  // namespace

SequentialRun::SequentialRun(const SimModel& sim, uint64_t seed)
    : sim_(sim), server_(sim, SimOptions()), model_(sim), traffic_(seed, sim, TrafficOptions()) {
  server_.faults.seed = seed;
  for (const char* client : kClients) Open(streams_.emplace_back(), client);
}

void SequentialRun::Open(Stream& stream, const std::string& client) {
  stream = Stream();
  stream.wire = *server_.Open();
  stream.number = ++streams_opened_;
  stream.is_private = client.empty();
  stream.client = stream.is_private ? absl::StrCat("private ", stream.number) : client;
  v1::ClientMessage message;
  message.mutable_hello()->set_client_id(client);
  SendMessage(stream, message);
}

void SequentialRun::Go(int operations) {
  for (int i = 0; i < operations && !::testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE(absl::StrCat("operation ", i));
    One();
    Settle();
    ASSERT_EQ(server_.sessions().sessions(), model_.sessions());
    for (size_t s = 0; s < streams_.size(); ++s) {
      if (streams_[s].wire->done()) Open(streams_[s], kClients[s]);
    }
  }
}

void SequentialRun::One() {
  Stream& stream = streams_[traffic_.Pick(streams_.size())];
  const uint64_t choice = traffic_.Pick(1000);
  if (choice < 150) return RunEngine(choice < 40);
  if (choice < 200) now_ += absl::Milliseconds(traffic_.Pick(12));
  if (choice == 200) return ChangeBadRows();
  if (choice == 201 || (gate_closed_ && choice < 220)) return TurnGate();
  if (choice < 220 || stream.closing) return;
  if (choice < 223) return HalfClose(stream);
  if (choice < 226) return Break(stream);
  if (choice == 226 || (stream.held && choice < 250)) return Hold(stream);
  if (choice < 350) return CancelStep(stream);
  Send(stream);
}

void SequentialRun::TurnGate() {
  gate_closed_ = !gate_closed_;
  server_.gate().Close(gate_closed_ ? absl::UnavailableError("draining") : absl::OkStatus());
}

void SequentialRun::Send(Stream& stream) {
  stream.last_step_id += 1 + traffic_.Pick(3);
  v1::ClientMessage message;
  *message.mutable_step() = traffic_.Step(model_, stream.client, stream.last_step_id);
  SentStep step;
  step.request = message.step();
  const bool decoded = step.request.segments_size() <= static_cast<int>(sim_.model.limits().segments_max());
  if (gate_closed_ && decoded) {
    step.answer.code = Code::kUnavailable;
  } else {
    step.answer = model_.Admit(stream.client, stream.number, step.request, RoomOf(stream));
  }
  step.under_way = step.answer.admitted;
  step.owed_bytes = step.answer.owed_bytes;
  if (!step.under_way) step.fate = step.answer.code;
  if (step.request.timeout_ms() > 0) step.deadline = now_ + absl::Milliseconds(step.request.timeout_ms());
  stream.steps.emplace(stream.last_step_id, std::move(step));
  SendMessage(stream, message);
}

// A step is in flight until its last frame is on the wire, whatever the engine has done.
ModelRoom SequentialRun::RoomOf(const Stream& stream) const {
  const v1::Limits& limits = sim_.model.limits();
  uint64_t steps = 0;
  uint64_t bytes = 0;
  for (const auto& [id, step] : stream.steps) {
    steps += step.answer.admitted ? 1 : 0;
    bytes += step.owed_bytes;
  }
  return {steps < limits.steps_in_flight_max(), limits.bytes_in_flight_max() - bytes};
}

void SequentialRun::CancelStep(Stream& stream) {
  uint64_t step_id = stream.last_step_id - std::min(stream.last_step_id, traffic_.Pick(8));
  if (!stream.steps.empty() && traffic_.OneIn(2)) step_id = stream.steps.begin()->first;
  const auto step = stream.steps.find(step_id);
  if (step != stream.steps.end() && step->second.under_way && !step->second.fate) step->second.fate = Code::kCancelled;
  v1::ClientMessage message;
  message.mutable_cancel()->set_step_id(step_id);
  SendMessage(stream, message);
}

void SequentialRun::Hold(Stream& stream) {
  stream.held = !stream.held;
  stream.wire->Hold(stream.held);
}

void SequentialRun::HalfClose(Stream& stream) {
  stream.closing = true;
  stream.held = false;
  stream.wire->Hold(false);
  stream.wire->HalfClose();
}

void SequentialRun::Break(Stream& stream) {
  v1::ClientMessage message;
  message.mutable_step()->set_step_id(stream.last_step_id);
  stream.end = Code::kInvalidArgument;
  switch (traffic_.Pick(4)) {
    case 0:
      stream.end = Code::kCancelled;
      stream.wire->Cancel();
      break;
    case 1:
      stream.wire->SendBytes("\x0a\xff");  // a length past the end
      break;
    case 2:
      message.mutable_hello();
      SendMessage(stream, message);
      break;
    default:
      if (stream.last_step_id == 0) message.clear_kind();
      SendMessage(stream, message);
  }
  for (auto& [id, step] : stream.steps) {
    if (step.under_way) orphans_.push_back(std::move(step.answer));
  }
  stream.steps.clear();
  stream.closing = true;
  stream.wire->Hold(false);
}

// One round, or as many as there is work for. Where a client does not read, one cannot see which steps a single round
// has ended: then it is all of them.
void SequentialRun::RunEngine(bool everything) {
  for (Stream& stream : streams_) {
    everything |= stream.held;
    for (auto& [id, step] : stream.steps) {
      if (step.under_way && !step.fate && step.deadline <= now_) step.fate = Code::kDeadlineExceeded;
    }
  }
  for (ModelAnswer& answer : orphans_) ProtocolModel::End(answer);
  orphans_.clear();
  server_.Rounds(now_, everything ? std::numeric_limits<int>::max() : 1);
  Settle();
  if (!everything) return;
  for (Stream& stream : streams_) EndUnderWay(stream);
}

void SequentialRun::ChangeBadRows() {
  RunEngine(true);
  server_.faults.bad_rows = traffic_.OneIn(2) ? 0 : 150 + traffic_.Pick(500);
}

void SequentialRun::End() {
  for (Stream& stream : streams_) {
    if (!stream.closing) HalfClose(stream);
  }
  RunEngine(true);
  for (const Stream& stream : streams_) EXPECT_TRUE(stream.wire->done());
  for (const char* client : {"a", "b", kSharedClient}) {
    for (uint64_t id = 1; id <= TrafficOptions().sessions; ++id) {
      EXPECT_TRUE(server_.sessions().Close({client, id}, 0).ok());
    }
  }
  EXPECT_EQ(server_.Leftovers(absl::ZeroDuration()), "");
}

}  // namespace engram
