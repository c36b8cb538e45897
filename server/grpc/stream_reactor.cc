#include "server/grpc/stream_reactor.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/grpc/status.h"
#include "server/grpc/wire.h"

namespace engram {
namespace {

// Answers to refused steps that may queue before reading pauses: a client that never reads cannot fill our memory.
constexpr size_t kRefusalsMax = 1024;

v1::ServerMessage WelcomeOf(const v1::Model& model) {
  v1::ServerMessage message;
  *message.mutable_welcome()->mutable_model() = model;
  message.mutable_welcome()->set_steps_in_flight_max(model.limits().steps_in_flight_max());
  message.mutable_welcome()->set_bytes_in_flight_max(model.limits().bytes_in_flight_max());
  return message;
}

}  // namespace

void StreamReactor::AnnounceDrain(const std::string& why) {
  {
    MutexLock lock(mu_);
    if (broken_ || !drain_.empty()) return;
    drain_ = why;
    if (stream_id_ != 0) PushDrain();
  }
  Pump();
}

void StreamReactor::PushDrain() {
  v1::ServerMessage message;
  message.mutable_drain()->set_message(drain_);
  outbox_.PushControl(message);
}

void StreamReactor::EndWhenAnswered(const absl::Status& status) {
  {
    MutexLock lock(mu_);
    if (ending_ || broken_) return;
    ending_ = true;
    end_status_ = status;
  }
  Pump();
}

void StreamReactor::Deliver(ReplyFrame frame) {
  {
    MutexLock lock(mu_);
    if (broken_) return;
    outbox_.PushFrame(std::move(frame));
  }
  Pump();
}

void StreamReactor::OnReadDone(bool ok) {
  if (!ok) {
    {
      MutexLock lock(mu_);
      half_closed_ = true;
    }
    return Pump();
  }
  const absl::Time arrival = absl::Now();
  v1::ClientMessage message;
  const bool parsed = ParseClientMessage(read_buffer_, message);
  read_buffer_.Clear();
  const absl::Status status =
      parsed ? Handle(message, arrival) : absl::InvalidArgumentError("a message of the stream is no ClientMessage");
  if (!status.ok()) return Break(status);
  ReadOn();
}

void StreamReactor::ReadOn() {
  {
    MutexLock lock(mu_);
    if (broken_ || finished_) return;
    read_paused_ = outbox_.refusals() >= kRefusalsMax;
    if (read_paused_) return;
  }
  StartRead(&read_buffer_);
}

void StreamReactor::OnWriteDone(bool ok) {
  bool resume = false;
  {
    MutexLock lock(mu_);
    writing_ = false;
    write_buffer_.Clear();
    resume = read_paused_ && !broken_ && outbox_.refusals() < kRefusalsMax / 2;
    if (resume) read_paused_ = false;
  }
  if (!ok) Break(absl::UnavailableError("the client is gone"));
  Pump();  // also where the stream was broken before: Finish waited for this write
  if (resume) ReadOn();
}

void StreamReactor::OnCancel() { Break(absl::CancelledError("the call was cancelled")); }

void StreamReactor::OnDone() {
  uint64_t stream_id = 0;
  {
    MutexLock lock(mu_);
    broken_ = true;
    stream_id = stream_id_;
    outbox_.Clear();
  }
  context_.scheduler.CloseStream(stream_id);
  if (client_private_) context_.sessions.ForgetClient(client_);
  registry_.Remove(this);
}

void StreamReactor::Break(const absl::Status& status) {
  uint64_t stream_id = 0;
  {
    MutexLock lock(mu_);
    if (broken_) return;
    broken_ = true;
    end_status_ = status;
    stream_id = stream_id_;
    outbox_.Clear();
  }
  context_.scheduler.CloseStream(stream_id);
  Pump();
}

void StreamReactor::Pump() {
  std::optional<OutMessage> message;
  absl::Status end;
  {
    MutexLock lock(mu_);
    if (writing_ || finished_) return;
    if (!broken_) message = outbox_.Take();
    writing_ = message.has_value();
    finished_ = broken_ || (!writing_ && (half_closed_ || ending_) && outbox_.idle());
    if (!writing_ && !finished_) return;
    if (broken_ || !half_closed_) end = end_status_;
  }
  if (!message.has_value()) return Finish(ToGrpcStatus(end));
  write_buffer_ = ToByteBuffer(*std::move(message));
  StartWrite(&write_buffer_);
}

absl::Status StreamReactor::Handle(const v1::ClientMessage& message, absl::Time arrival) {
  switch (message.kind_case()) {
    case v1::ClientMessage::kHello:
      return HandleHello(message.hello());
    case v1::ClientMessage::kStep:
      return HandleStep(message.step(), arrival);
    case v1::ClientMessage::kCancel:
      return HandleCancel(message.cancel());
    default:
      return absl::InvalidArgumentError("a ClientMessage has none of the kinds this server knows");
  }
}

absl::Status StreamReactor::HandleHello(const v1::Hello& hello) {
  if (!client_.empty()) return absl::InvalidArgumentError("hello: a second one on this stream");
  if (absl::Status status = context_.admission.CheckHello(hello); !status.ok()) return status;
  client_private_ = hello.client_id().empty();
  client_ = client_private_ ? context_.sessions.PrivateClient() : hello.client_id();
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

absl::Status StreamReactor::HandleStep(const v1::StepRequest& request, absl::Time arrival) {
  if (client_.empty()) return absl::InvalidArgumentError("step: the first message of a stream must be hello");
  if (any_step_ && request.step_id() <= last_step_id_) {
    return absl::InvalidArgumentError(
        absl::StrCat("step_id ", request.step_id(), ": must be greater than the step_id before it, ", last_step_id_));
  }
  any_step_ = true;
  last_step_id_ = request.step_id();
  const absl::Status refused = AdmitStep(request, arrival);
  if (refused.ok()) return absl::OkStatus();
  {
    MutexLock lock(mu_);
    if (!broken_) {
      outbox_.PushRefusal(FailedReply(request.step_id(), context_.model.table_version(), refused));
    }
  }
  Pump();
  return absl::OkStatus();
}

absl::Status StreamReactor::AdmitStep(const v1::StepRequest& request, absl::Time arrival) {
  absl::StatusOr<StepTicket> ticket = context_.gate.Enter();
  if (!ticket.ok()) return ticket.status();
  const uint64_t stream_id = SchedulerStream();
  const StepOrigin origin{stream_id, client_};
  absl::StatusOr<Step> step = context_.admission.Admit(origin, request, RoomNow(), arrival);
  if (!step.ok()) return step.status();
  {
    MutexLock lock(mu_);
    if (!broken_) outbox_.AddStep(step->step_id, step->reply_bytes);
  }
  context_.scheduler.Submit(stream_id, *std::move(ticket), *std::move(step));
  return absl::OkStatus();
}

uint64_t StreamReactor::SchedulerStream() {
  MutexLock lock(mu_);
  return stream_id_;
}

StepRoom StreamReactor::RoomNow() {
  const v1::Limits& limits = context_.model.limits();
  StepRoom room;
  room.steps_max = limits.steps_in_flight_max();
  room.bytes_max = limits.bytes_in_flight_max();
  room.tokens_max = limits.step_tokens_max();
  MutexLock lock(mu_);
  room.steps_free = room.steps_max - std::min(room.steps_max, outbox_.steps_in_flight());
  room.bytes_free = room.bytes_max - std::min(room.bytes_max, outbox_.bytes_in_flight());
  return room;
}

absl::Status StreamReactor::HandleCancel(const v1::CancelStep& cancel) {
  if (client_.empty()) return absl::InvalidArgumentError("cancel: the first message of a stream must be hello");
  if (!context_.scheduler.Cancel(SchedulerStream(), cancel.step_id())) return absl::OkStatus();
  // From here on the step cannot end with OK, so rows that still queue are of no use.
  MutexLock lock(mu_);
  outbox_.DropRows(cancel.step_id());
  return absl::OkStatus();
}

}  // namespace engram
