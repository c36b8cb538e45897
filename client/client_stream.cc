#include "client/client_stream.h"

#include <grpcpp/support/proto_buffer_reader.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/frame_reader.h"

namespace engram {
namespace {

constexpr char kStreamMethod[] = "/engram.v1.EngramLookup/Stream";

}  // namespace

ClientStream::ClientStream(std::shared_ptr<grpc::Channel> channel, std::function<void()> changed,
                           SharedMemoryOptions shared_memory)
    : channel_(std::move(channel)),
      changed_(std::move(changed)),
      shared_memory_(std::move(shared_memory)),
      stub_(channel_),
      not_shared_(absl::UnavailableError("no connection yet")) {}

void ClientStream::Start(const v1::Hello& hello) {
  stub_.PrepareBidiStreamingCall(&context_, kStreamMethod, grpc::StubOptions(), this);
  v1::ClientMessage message;
  *message.mutable_hello() = hello;
  {
    MutexLock lock(mu_);
    Send(std::move(message));
  }
  StartRead(&incoming_);
  // Submit writes from threads that are no reaction: without a hold the call could end under it.
  AddHold();
  StartCall();
}

void ClientStream::Shutdown() {
  Close(absl::CancelledError("the client was destroyed"));
  context_.TryCancel();
  done_.WaitForNotification();
}

absl::Status ClientStream::Usable() const {
  if (closed_) return why_closed_;
  if (draining_) return absl::UnavailableError(absl::StrCat("the server is draining: ", drain_message_));
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<PendingStep>> ClientStream::Submit(v1::StepRequest step, const Geometry& geometry,
                                                                  bool keep_unique,
                                                                  std::function<void(StepResult)> done) {
  StepShape shape = ShapeOf(step, geometry);
  shape.keep_unique = keep_unique && !shape.hash_ids;
  MutexLock lock(mu_);
  if (absl::Status status = Usable(); !status.ok()) return status;
  const uint32_t steps_max = welcome_->steps_in_flight_max();
  if (steps_max != 0 && pending_.size() >= steps_max) {
    return absl::ResourceExhaustedError(
        absl::StrCat(pending_.size(), " steps in flight; the server's steps_in_flight_max is ", steps_max));
  }
  const uint64_t step_id = ++last_step_id_;
  std::shared_ptr<SegmentPlace> place = PlaceFor(shape);
  v1::ClientMessage message;
  *message.mutable_step() = std::move(step);
  message.mutable_step()->set_step_id(step_id);
  message.mutable_step()->clear_place();
  if (place != nullptr) {
    message.mutable_step()->mutable_place()->set_segment_id(ClientSegment::kId);
    message.mutable_step()->mutable_place()->set_offset(place->offset());
  }
  auto pending = std::make_shared<PendingStep>(step_id, std::move(shape), std::move(done), std::move(place));
  pending_.emplace(step_id, pending);
  Send(std::move(message));
  return pending;
}

void ClientStream::Cancel(uint64_t step_id) {
  MutexLock lock(mu_);
  if (closed_ || pending_.count(step_id) == 0) return;
  v1::ClientMessage message;
  message.mutable_cancel()->set_step_id(step_id);
  Send(std::move(message));
}

StreamState ClientStream::state() const {
  MutexLock lock(mu_);
  return {Welcomed(), draining_, ended_, Usable()};
}

void ClientStream::Send(v1::ClientMessage message) {
  outgoing_.push_back(std::move(message));
  if (outgoing_.size() == 1) StartWrite(&outgoing_.front());
}

void ClientStream::OnWriteDone(bool ok) {
  MutexLock lock(mu_);
  outgoing_.pop_front();
  // A failed write means that the call has ended: OnReadDone says so too, OnDone says why.
  if (!ok || closed_) outgoing_.clear();
  if (!outgoing_.empty()) StartWrite(&outgoing_.front());
}

void ClientStream::OnReadDone(bool ok) {
  absl::Status status = ok ? TakeMessage() : absl::UnavailableError("the connection to the server ended");
  if (status.ok()) {
    StartRead(&incoming_);
    return;
  }
  Close(status);
  if (ok) context_.TryCancel();
  RemoveHold();
}

void ClientStream::Close(const absl::Status& why) {
  MutexLock lock(mu_);
  if (!closed_) why_closed_ = why;
  closed_ = true;
}

absl::Status ClientStream::TakeMessage() {
  absl::StatusOr<ServerFrame> frame = [this] {
    grpc::ProtoBufferReader reader(&incoming_);
    return ReadServerFrame(reader, incoming_.Length());
  }();
  if (!frame.ok()) return frame.status();
  switch (frame->message.kind_case()) {
    case v1::ServerMessage::kReply:
      return TakeReply(frame->message.reply(), frame->rows_offset, frame->rows_size);
    case v1::ServerMessage::kWelcome:
    case v1::ServerMessage::kDrain:
    case v1::ServerMessage::kSegment:
      TakeNews(frame->message);
      return absl::OkStatus();
    // A later server may send kinds that this client need not know.
    default:
      return absl::OkStatus();
  }
}

std::shared_ptr<PendingStep> ClientStream::Find(uint64_t step_id) {
  MutexLock lock(mu_);
  const auto found = pending_.find(step_id);
  return found == pending_.end() ? nullptr : found->second;
}

absl::Status ClientStream::TakeReply(const v1::StepReply& reply, uint64_t rows_offset, uint64_t rows_size) {
  const std::shared_ptr<PendingStep> step = Find(reply.step_id());
  if (step == nullptr) {
    return absl::InternalError(absl::StrCat("the server answered step ", reply.step_id(), ", which is not in flight"));
  }
  grpc::ProtoBufferReader reader(&incoming_);
  if (!reader.Skip(static_cast<int>(rows_offset))) return absl::InternalError("a frame shorter than it was");
  const auto read = [&reader](uint8_t* out, uint64_t size) { return CopyBytes(reader, out, size); };
  if (reply.last()) {
    // Forgotten before it finishes, so that who waits for it finds room for the next step.
    MutexLock lock(mu_);
    pending_.erase(reply.step_id());
  }
  const absl::Status status = step->Apply(reply, {rows_size, read});
  if (!status.ok() && reply.last()) step->Finish(status);
  return status;
}

void ClientStream::OnDone(const grpc::Status& status) {
  std::map<uint64_t, std::shared_ptr<PendingStep>> unfinished;
  std::shared_ptr<ClientSegment> segment;  // the last reference may go: outside the lock
  absl::Status why;
  {
    MutexLock lock(mu_);
    // What this side decided is the cause; the status of a call that was cancelled for it is not.
    const bool ours = closed_ && !absl::IsUnavailable(why_closed_);
    if (!ours && !status.ok()) why_closed_ = StatusOfCode(status.error_code(), status.error_message());
    if (!closed_) why_closed_ = absl::UnavailableError("the server ended the stream");
    closed_ = true;
    ended_ = true;
    unfinished.swap(pending_);
    segment = std::exchange(segment_, nullptr);
    if (std::exchange(sharing_, Sharing::kNone) != Sharing::kNone) not_shared_ = why_closed_;
    why = why_closed_;
    answered_.NotifyAll();
  }
  for (auto& [step_id, step] : unfinished) step->Finish(why);
  if (changed_) changed_();
  done_.Notify();  // last: who waits for it may destroy this object
}

}  // namespace engram
