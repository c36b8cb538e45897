#include "random_stream.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace engram {

absl::Status RandomStream::Run(const std::shared_ptr<grpc::Channel>& channel) {
  // A connection that a busy machine refused once is tried again: streams are what is tested here.
  context_.set_wait_for_ready(true);
  const std::unique_ptr<v1::EngramLookup::Stub> stub = v1::EngramLookup::NewStub(channel);
  stub->async()->Stream(&context_, this);
  if (life_.end != StreamLife::End::kNeverReads) StartRead(&incoming_);
  StartWrite(&life_.messages[written_]);
  StartCall();
  if (life_.end != StreamLife::End::kOrderly) {
    absl::SleepFor(life_.until_cancel);
    context_.TryCancel();
  }
  done_.WaitForNotification();
  return Verdict();
}

void RandomStream::OnWriteDone(bool ok) {
  ++written_;
  if (!ok) return;
  if (written_ < life_.messages.size()) return StartWrite(&life_.messages[written_]);
  if (life_.end == StreamLife::End::kOrderly || life_.end == StreamLife::End::kHalfClosed) StartWritesDone();
}

void RandomStream::OnReadDone(bool ok) {
  if (!ok) return;
  if (incoming_.has_reply()) {
    const v1::StepReply& reply = incoming_.reply();
    ++frames_;
    last_frames_ += reply.last() ? 1 : 0;
    if (reply.code() != 0) failure_ = absl::StrCat("step ", reply.step_id(), ": ", reply.message());
    for (const v1::SegmentResult& result : reply.results()) {
      if (result.code() != 0) failure_ = absl::StrCat("step ", reply.step_id(), ": ", result.message());
    }
  }
  StartRead(&incoming_);
}

void RandomStream::OnDone(const grpc::Status& status) {
  status_ = status;
  done_.Notify();
}

absl::Status RandomStream::Verdict() const {
  const bool orderly = life_.end == StreamLife::End::kOrderly;
  if (!status_.ok() && (orderly || status_.error_code() != grpc::StatusCode::CANCELLED)) {
    return absl::InternalError(
        absl::StrCat("the stream ended with ", status_.error_code(), ": ", status_.error_message()));
  }
  if (!orderly) return absl::OkStatus();
  if (!failure_.empty()) return absl::InternalError(failure_);
  const uint64_t steps = life_.messages.size() - 1;
  if (last_frames_ == steps) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(last_frames_, " last frames for ", steps, " steps"));
}

}  // namespace engram
