// What the messages of a client do to its stream.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/answer_bytes.h"
#include "server/stream_call.h"
#include "server/stream_registry.h"
#include "server/wire_scan.h"

namespace engram {
namespace {

v1::ServerMessage WelcomeOf(const v1::Model& model) {
  v1::ServerMessage message;
  *message.mutable_welcome()->mutable_model() = model;
  message.mutable_welcome()->set_steps_in_flight_max(model.limits().steps_in_flight_max());
  message.mutable_welcome()->set_bytes_in_flight_max(model.limits().bytes_in_flight_max());
  return message;
}

}  // namespace

// Decoding takes many times the memory of some messages, so what they hold is looked at before.
absl::Status StreamCall::Decode(OpenBytes open, absl::Time arrival) {
  const absl::Status undecodable = absl::InvalidArgumentError("a message of the stream is no ClientMessage");
  const WireScan scan = ScanClientMessage(*open());
  if (!scan.well_formed) return undecodable;
  const v1::Limits& limits = context_.model.limits();
  if (absl::Status status = CheckUnknownFields(scan, limits); !status.ok()) return status;
  if (const absl::Status refused = CheckSegmentCount(scan.segments, limits); !refused.ok()) {
    if (absl::Status status = TakeStepId(scan.step_id); !status.ok()) return status;
    Refuse(scan.step_id, refused);
    return absl::OkStatus();
  }
  v1::ClientMessage message;
  if (!message.ParseFromZeroCopyStream(open().get())) return undecodable;
  return Handle(message, arrival);
}

absl::Status StreamCall::Handle(const v1::ClientMessage& message, absl::Time arrival) {
  switch (message.kind_case()) {
    case v1::ClientMessage::kHello:
      return HandleHello(message.hello());
    case v1::ClientMessage::kStep:
      return HandleStep(message.step(), arrival);
    case v1::ClientMessage::kCancel:
      return HandleCancel(message.cancel());
    case v1::ClientMessage::kRegisterSegment:
      return HandleRegister(message.register_segment());
    default:
      return absl::InvalidArgumentError("a ClientMessage has none of the kinds this server knows");
  }
}

absl::Status StreamCall::HandleHello(const v1::Hello& hello) {
  if (!client_.empty()) return absl::InvalidArgumentError("hello: a second one on this stream");
  if (absl::Status status = context_.admission.CheckHello(hello); !status.ok()) return status;
  client_private_ = hello.client_id().empty();
  client_ = client_private_ ? context_.sessions.PrivateClient() : hello.client_id();
  registry_.SaidHello(this);
  const uint64_t stream_id = context_.scheduler.OpenStream(shared_from_this());
  {
    MutexLock lock(mu_);
    stream_id_ = stream_id;
    if (broken_) return absl::OkStatus();  // OnDone closes it
    outbox_.PushControl(WelcomeOf(context_.model));
    if (!drain_.empty()) PushDrain();
  }
  Pump();
  return absl::OkStatus();
}

absl::Status StreamCall::TakeStepId(uint64_t step_id) {
  if (client_.empty()) return absl::InvalidArgumentError("step: the first message of a stream must be hello");
  if (any_step_ && step_id <= last_step_id_) {
    return absl::InvalidArgumentError(
        absl::StrCat("step_id ", step_id, ": must be greater than the step_id before it, ", last_step_id_));
  }
  any_step_ = true;
  last_step_id_ = step_id;
  return absl::OkStatus();
}

absl::Status StreamCall::HandleStep(const v1::StepRequest& request, absl::Time arrival) {
  if (absl::Status status = TakeStepId(request.step_id()); !status.ok()) return status;
  const absl::Status refused = AdmitStep(request, arrival);
  if (!refused.ok()) Refuse(request.step_id(), refused);
  return absl::OkStatus();
}

void StreamCall::Refuse(uint64_t step_id, const absl::Status& refused) {
  {
    MutexLock lock(mu_);
    if (!broken_) outbox_.PushRefusal(FailedReply(step_id, context_.model.table_version(), refused));
  }
  Pump();
}

absl::Status StreamCall::AdmitStep(const v1::StepRequest& request, absl::Time arrival) {
  absl::StatusOr<StepTicket> ticket = context_.gate.Enter();
  if (!ticket.ok()) return ticket.status();
  const uint64_t stream_id = SchedulerStream();
  const StepOrigin origin{stream_id, client_};
  std::shared_ptr<MappedSegment> segment = segments_.Find(request.place().segment_id());
  absl::StatusOr<Step> step = context_.admission.Admit(origin, request, RoomNow(segment.get()), arrival);
  if (!step.ok()) return step.status();
  std::shared_ptr<PlacedRows> place;
  if (step->placed) place = std::make_shared<PlacedRows>(std::move(segment), request.place().offset());
  {
    MutexLock lock(mu_);
    if (!broken_) outbox_.AddStep(step->step_id, step->reply_bytes, AnswerBytes(*step), std::move(place));
  }
  context_.scheduler.Submit(stream_id, *std::move(ticket), *std::move(step));
  return absl::OkStatus();
}

uint64_t StreamCall::SchedulerStream() {
  MutexLock lock(mu_);
  return stream_id_;
}

StepRoom StreamCall::RoomNow(const MappedSegment* segment) {
  const v1::Limits& limits = context_.model.limits();
  StepRoom room;
  room.steps_max = limits.steps_in_flight_max();
  room.bytes_max = limits.bytes_in_flight_max();
  room.tokens_max = limits.step_tokens_max();
  if (segment != nullptr) room.segment_bytes = segment->bytes();
  MutexLock lock(mu_);
  room.steps_free = room.steps_max - std::min(room.steps_max, outbox_.steps_in_flight());
  room.bytes_free = room.bytes_max - std::min(room.bytes_max, outbox_.bytes_in_flight());
  return room;
}

absl::Status StreamCall::HandleRegister(const v1::RegisterSegment& request) {
  if (client_.empty()) {
    return absl::InvalidArgumentError("register_segment: the first message of a stream must be hello");
  }
  const absl::Status status = segments_.Register(request, context_.segments);
  v1::ServerMessage message;
  message.mutable_segment()->set_segment_id(request.segment_id());
  message.mutable_segment()->set_code(static_cast<int>(status.code()));
  message.mutable_segment()->set_message(std::string(status.message()));
  {
    MutexLock lock(mu_);
    if (!broken_) outbox_.PushSegmentReply(message);
  }
  Pump();
  return absl::OkStatus();
}

absl::Status StreamCall::HandleCancel(const v1::CancelStep& cancel) {
  if (client_.empty()) return absl::InvalidArgumentError("cancel: the first message of a stream must be hello");
  if (!context_.scheduler.Cancel(SchedulerStream(), cancel.step_id())) return absl::OkStatus();
  // From here on the step cannot end with OK, so rows that still queue are of no use.
  MutexLock lock(mu_);
  outbox_.DropRows(cancel.step_id());
  return absl::OkStatus();
}

}  // namespace engram
