// What a stream hears besides answers: Welcome, Drain, and what became of the segment that both are to share.

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/client_stream.h"

namespace engram {
namespace {

constexpr char kCapability[] = "segment";

absl::Status NotShared(absl::string_view why) {
  return absl::FailedPreconditionError(absl::StrCat("no shared memory with the server: ", why));
}

}  // namespace

absl::StatusOr<v1::Welcome> ClientStream::AwaitWelcome(absl::Duration timeout) {
  const auto give_up = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(std::min(timeout, absl::Hours(24)));
  MutexLock lock(mu_);
  while (!Welcomed() && !ended_ && answered_.WaitUntil(mu_, give_up)) {
  }
  if (Welcomed()) {
    const bool required = shared_memory_.bytes > 0 && shared_memory_.required;
    if (required && sharing_ == Sharing::kNone) return not_shared_;
    return *welcome_;
  }
  if (ended_) return why_closed_;
  return absl::DeadlineExceededError(absl::StrCat("no Welcome within ", absl::FormatDuration(timeout)));
}

void ClientStream::TakeNews(const v1::ServerMessage& message) {
  if (message.has_welcome()) TakeWelcome(message.welcome());
  if (message.has_segment()) TakeSegmentReply(message.segment());
  {
    MutexLock lock(mu_);
    if (message.has_drain()) {
      draining_ = true;
      drain_message_ = message.drain().message();
    }
    answered_.NotifyAll();
  }
  if (changed_) changed_();
}

// Making a segment takes milliseconds: without the lock, and while nothing else comes on this stream.
void ClientStream::TakeWelcome(const v1::Welcome& welcome) {
  {
    MutexLock lock(mu_);
    if (welcome_.has_value()) return;
  }
  const auto& words = welcome.model().capabilities();
  absl::StatusOr<std::shared_ptr<ClientSegment>> made = NotShared("shared_memory.bytes is 0");
  if (shared_memory_.bytes > 0 && std::find(words.begin(), words.end(), kCapability) == words.end()) {
    made = NotShared("it does not offer it (shared_memory.enabled in its configuration)");
  } else if (shared_memory_.bytes > 0) {
    made = ClientSegment::Create(shared_memory_);
  }
  MutexLock lock(mu_);
  welcome_ = welcome;
  not_shared_ = made.status();
  if (!made.ok() || closed_) return;
  segment_ = *std::move(made);
  sharing_ = Sharing::kAsked;
  v1::ClientMessage message;
  message.mutable_register_segment()->set_segment_id(ClientSegment::kId);
  message.mutable_register_segment()->set_name(segment_->name());
  message.mutable_register_segment()->set_bytes(segment_->bytes());
  Send(std::move(message));
}

void ClientStream::TakeSegmentReply(const v1::SegmentReply& reply) {
  std::shared_ptr<ClientSegment> segment;
  {
    MutexLock lock(mu_);
    if (sharing_ != Sharing::kAsked || reply.segment_id() != ClientSegment::kId) return;
    segment = segment_;
    sharing_ = reply.code() == 0 ? Sharing::kShared : Sharing::kNone;
    if (reply.code() != 0) {
      const absl::Status refused = StatusOfCode(reply.code(), reply.message());
      not_shared_ = NotShared(absl::StrCat(absl::StatusCodeToString(refused.code()), ": ", refused.message()));
      segment_ = nullptr;
    }
  }
  segment->Unlink();  // the server has it, or does not want it: nothing stays behind, whatever becomes of us
}

std::shared_ptr<SegmentPlace> ClientStream::PlaceFor(const StepShape& shape) const {
  const uint64_t bytes = shape.SentTokens(0, shape.tokens()) * shape.columns * shape.row_bytes * shape.layers.size();
  const bool wanted = sharing_ == Sharing::kShared && bytes > 0 && !shape.unique_rows;  // those come in messages
  return wanted ? segment_->Take(bytes) : nullptr;
}

absl::Status ClientStream::shared_memory_status() const {
  MutexLock lock(mu_);
  return sharing_ == Sharing::kShared ? absl::OkStatus() : not_shared_;
}

}  // namespace engram
