#include "tests/sim/client_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"

namespace engram {
namespace {

using Code = absl::StatusCode;

constexpr absl::Duration kPatience = absl::Seconds(60);

v1::StepRequest SharedSession(uint64_t id) {
  v1::StepRequest request;
  request.set_step_id(id);
  v1::Segment& segment = *request.add_segments();
  segment.set_session_id(id);
  for (uint32_t t = 0; t < 3 * id; ++t) segment.add_token_ids(t);
  return request;
}

}  // namespace

ClientRun::ClientRun(const SimModel& sim, Simulator& server, uint64_t seed, const ClientOptions& options)
    : sim_(sim),
      server_(server),
      options_(options),
      traffic_(seed, sim, {.timeout_ms_max = 4}),
      model_(sim),
      hopes_(sim),
      seed_(seed) {
  for (ProtocolModel* model : {&model_, &hopes_}) {
    for (uint64_t id = 1; !options.private_only && id <= TrafficOptions().sessions; ++id) {
      ModelAnswer answer = model->Admit(kSharedClient, kModelStream, SharedSession(id), ModelRoom());
      ProtocolModel::End(answer);
    }
  }
}

void ClientRun::WriteShared(const SimModel& sim, Simulator& server) {
  const std::shared_ptr<SimStream> wire = *server.Open();
  v1::ClientMessage message;
  message.mutable_hello()->set_client_id(kSharedClient);
  wire->Send(message);
  ASSERT_LE(TrafficOptions().sessions, sim.model.limits().steps_in_flight_max() + 2);
  for (uint64_t id = 1; id <= TrafficOptions().sessions; ++id) {
    *message.mutable_step() = SharedSession(id);
    wire->Send(message);
    for (const absl::Time end = absl::Now() + kPatience; absl::Now() < end;) {
      if (server.sessions().sessions() == id && server.gate().steps() == 0) break;
      absl::SleepFor(absl::Microseconds(100));
    }
  }
  wire->HalfClose();
  ASSERT_TRUE(wire->WaitDone(kPatience));
}

void ClientRun::Go() {
  for (int i = 0; i < options_.streams && !::testing::Test::HasFailure(); ++i) {
    Stream stream;
    if (!Open(stream)) return;
    Use(stream);
    Leave(stream);
    ASSERT_TRUE(stream.wire->WaitDone(kPatience)) << "a stream does not end";
    Receive(stream);
    if (!Check(stream)) name_.clear();
    streams_cut += stream.wire->status().code() == Code::kCancelled ? 1 : 0;
  }
}

bool ClientRun::Open(Stream& stream) {
  SimWire wire{.seed = traffic_.Pick(~uint64_t{0})};
  if (traffic_.OneIn(2)) wire.read_delay_max = options_.wire_delay_max;
  if (traffic_.OneIn(2)) wire.write_delay_max = options_.wire_delay_max;
  wire.never_reads = traffic_.OneIn(12) && options_.cancel_one_in > 0;
  absl::StatusOr<std::shared_ptr<SimStream>> opened = server_.Open(wire);
  if (!opened.ok()) {
    EXPECT_TRUE(options_.outage && absl::IsUnavailable(opened.status())) << opened.status();
    return false;
  }
  stream.wire = *std::move(opened);
  stream.never_reads = wire.never_reads;
  const bool is_private = options_.private_only || traffic_.OneIn(4);
  if (name_.empty()) {
    name_ = absl::StrCat("client ", seed_, " ", ++names_);
    named_.push_back(name_);
  }
  stream.client = is_private ? absl::StrCat("private ", ++names_) : name_;
  v1::ClientMessage message;
  message.mutable_hello()->set_client_id(is_private ? "" : name_);
  stream.wire->Send(message);
  return true;
}

void ClientRun::Use(Stream& stream) {
  const uint64_t steps = traffic_.Pick(options_.steps_max);
  uint64_t step_id = 0;
  for (uint64_t i = 0; i < steps && !stream.wire->done(); ++i) {
    Receive(stream);
    const bool was_draining = stream.drain_heard;
    step_id += 1 + traffic_.Pick(2);
    SendStep(stream, step_id);
    if (was_draining) {
      stream.sent_after_drain.insert(step_id);
      if (traffic_.OneIn(2)) return;
    }
    if (traffic_.OneIn(6)) {
      v1::ClientMessage message;
      const uint64_t given_up = step_id - std::min(step_id, traffic_.Pick(6));
      message.mutable_cancel()->set_step_id(given_up);
      stream.cancelled_steps.insert(given_up);
      stream.wire->Send(message);
    }
    // Seldom more than the server takes.
    const bool waits = !stream.never_reads && !traffic_.OneIn(10);
    for (const absl::Time end = absl::Now() + kPatience; waits && absl::Now() < end && !stream.wire->done();) {
      Receive(stream);
      if (stream.sent.size() - stream.answered < sim_.model.limits().steps_in_flight_max()) break;
      absl::SleepFor(absl::Microseconds(50));
    }
  }
}

void ClientRun::SendStep(Stream& stream, uint64_t step_id) {
  v1::ClientMessage message;
  *message.mutable_step() = traffic_.Step(hopes_, stream.client, step_id);
  stream.sent[step_id] = message.step();
  ModelAnswer hoped = hopes_.Admit(stream.client, kModelStream, message.step(), ModelRoom());
  ProtocolModel::End(hoped);
  stream.wire->Send(message);
}

void ClientRun::Receive(Stream& stream) {
  for (const v1::ServerMessage& message : stream.wire->Take()) {
    if (message.has_drain()) {
      EXPECT_TRUE(options_.outage && !std::exchange(stream.drain_heard, true));
    } else if (message.has_reply()) {
      stream.frames[message.reply().step_id()].push_back(message.reply());
      stream.answered += message.reply().last() ? 1 : 0;
    }
  }
}

void ClientRun::Leave(Stream& stream) {
  if (stream.never_reads || (options_.cancel_one_in > 0 && traffic_.OneIn(options_.cancel_one_in))) {
    absl::SleepFor(options_.cancel_after_max * (static_cast<double>(traffic_.Pick(1000)) / 1000));
    stream.cancelled = true;
    return stream.wire->Cancel();
  }
  if (stream.drain_heard && traffic_.OneIn(2)) return;  // the server ends it
  stream.wire->HalfClose();
}

void ClientRun::CloseSessions() {
  for (const std::string& client : named_) server_.sessions().ForgetClient(client);
}

}  // namespace engram
