#include "server/stream_call.h"

#include <optional>
#include <utility>

#include "server/stream_registry.h"

namespace engram {

void StreamCall::AnnounceDrain(const std::string& why) {
  {
    MutexLock lock(mu_);
    if (broken_ || !drain_.empty()) return;
    drain_ = why;
    if (stream_id_ != 0) PushDrain();
  }
  Pump();
}

void StreamCall::PushDrain() {
  v1::ServerMessage message;
  message.mutable_drain()->set_message(drain_);
  outbox_.PushControl(message);
}

void StreamCall::EndWhenAnswered(const absl::Status& status) {
  {
    MutexLock lock(mu_);
    if (ending_ || broken_) return;
    ending_ = true;
    end_status_ = status;
  }
  Pump();
}

void StreamCall::Deliver(ReplyFrame frame) {
  std::shared_ptr<PlacedRows> place;
  {
    MutexLock lock(mu_);
    if (broken_) return;
    place = outbox_.PlaceOf(frame.head.step_id());
    if (place == nullptr) {
      outbox_.PushFrame(std::move(frame));
    } else {
      ++placing_;
    }
  }
  if (place != nullptr) Place(*place, std::move(frame));
  Pump();
}

void StreamCall::Place(PlacedRows& place, ReplyFrame frame) {
  place.Take(frame);
  MutexLock lock(mu_);
  --placing_;
  if (!broken_) outbox_.PushFrame(std::move(frame));
}

void StreamCall::OnBytes(OpenBytes open, absl::Time arrival) {
  const absl::Status status = Decode(open, arrival);
  if (!status.ok()) return Break(status);
  ReadOn();
}

void StreamCall::OnHalfClose() {
  {
    MutexLock lock(mu_);
    half_closed_ = true;
  }
  Pump();
}

void StreamCall::ReadOn() {
  {
    MutexLock lock(mu_);
    if (broken_ || finished_) return;
    // A client that never reads cannot fill our memory.
    read_paused_ = outbox_.answer_bytes() >= context_.scheduler.unsent_bytes_max();
    if (read_paused_) return;
  }
  transport_.Read();
}

void StreamCall::OnWritten(bool ok) {
  bool resume = false;
  {
    MutexLock lock(mu_);
    writing_ = false;
    resume = read_paused_ && !broken_ && outbox_.answer_bytes() < context_.scheduler.unsent_bytes_max() / 2;
    if (resume) read_paused_ = false;
  }
  if (!ok) Break(absl::UnavailableError("the client is gone"));
  Pump();  // also where the stream was broken before: Finish waited for this write
  if (resume) ReadOn();
}

uint64_t StreamCall::answer_bytes() {
  MutexLock lock(mu_);
  return outbox_.answer_bytes();
}

void StreamCall::OnCancel() { Break(absl::CancelledError("the call was cancelled")); }

void StreamCall::OnDone() {
  uint64_t stream_id = 0;
  {
    MutexLock lock(mu_);
    broken_ = true;
    stream_id = stream_id_;
    outbox_.Clear();
  }
  segments_.Clear();
  context_.scheduler.CloseStream(stream_id);
  if (client_private_) context_.sessions.ForgetClient(client_);
  registry_.Remove(this);
}

void StreamCall::Break(const absl::Status& status) {
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

void StreamCall::Pump() {
  std::optional<OutMessage> message;
  absl::Status end;
  {
    MutexLock lock(mu_);
    if (writing_ || finished_ || (broken_ && placing_ > 0)) return;
    if (!broken_) message = outbox_.Take();
    writing_ = message.has_value();
    finished_ = broken_ || (!writing_ && (half_closed_ || ending_) && outbox_.idle());
    if (!writing_ && !finished_) return;
    if (broken_ || !half_closed_) end = end_status_;
  }
  if (!message.has_value()) return transport_.Finish(end);
  transport_.Write(*std::move(message));
}

}  // namespace engram
