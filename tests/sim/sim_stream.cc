#include "tests/sim/sim_stream.h"

#include <gtest/gtest.h>

#include <chrono>
#include <utility>

#include "absl/time/clock.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"

namespace engram {

SimStream::SimStream(const ServiceContext& context, StreamRegistry& registry, Reactions& reactions, const SimWire& wire)
    : reactions_(reactions),
      wire_(wire),
      call_(std::make_shared<StreamCall>(context, registry, *this)),
      random_(wire.seed),
      held_(wire.never_reads) {}

void SimStream::Start() {
  {
    MutexLock lock(mu_);
    self_ = shared_from_this();
  }
  Read();
}

void SimStream::Send(const v1::ClientMessage& message, std::optional<absl::Time> arrival) {
  Push({message.SerializeAsString(), arrival});
}

void SimStream::SendBytes(std::string bytes) { Push({std::move(bytes), std::nullopt}); }

void SimStream::Push(Sent sent) {
  MutexLock lock(mu_);
  if (cancelled_ || finished_) return;
  inbox_.push_back(std::move(sent));
  if (std::exchange(reading_, false)) PostRead();
}

void SimStream::HalfClose() {
  MutexLock lock(mu_);
  if (cancelled_ || finished_) return;
  half_closed_ = true;
  if (std::exchange(reading_, false)) PostRead();
}

void SimStream::Cancel() {
  MutexLock lock(mu_);
  if (cancelled_ || finished_) return;
  cancelled_ = true;
  Post(absl::ZeroDuration(), [this] { call_->OnCancel(); });
  if (std::exchange(reading_, false)) PostRead();
  if (unanswered_) PostWritten(absl::ZeroDuration(), false);
}

void SimStream::Hold(bool hold) {
  MutexLock lock(mu_);
  held_ = hold;
  if (!hold && unanswered_) PostWritten(absl::ZeroDuration(), true);
}

std::vector<v1::ServerMessage> SimStream::Take() {
  MutexLock lock(mu_);
  return std::exchange(received_, {});
}

size_t SimStream::unread() const {
  MutexLock lock(mu_);
  return inbox_.size();
}

bool SimStream::done() const {
  MutexLock lock(mu_);
  return done_;
}

bool SimStream::WaitDone(absl::Duration wait) const {
  const auto end = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(wait);
  MutexLock lock(mu_);
  while (!done_ && changed_.WaitUntil(mu_, end)) {
  }
  return done_;
}

absl::Status SimStream::status() const {
  MutexLock lock(mu_);
  return status_;
}

void SimStream::Read() {
  MutexLock lock(mu_);
  EXPECT_FALSE(reading_) << "two reads at once";
  if (inbox_.empty() && !half_closed_ && !cancelled_ && !finished_) {
    reading_ = true;
  } else {
    PostRead();
  }
}

// The next event of reading: what was sent, or the end of it.
void SimStream::PostRead() {
  const absl::Duration delay = Delay(wire_.read_delay_max);
  if (cancelled_ || finished_ || inbox_.empty()) return Post(delay, [this] { call_->OnHalfClose(); });
  Post(delay, [this, sent = std::move(inbox_.front())] { React(sent); });
  inbox_.pop_front();
}

void SimStream::React(const Sent& sent) {
  using google::protobuf::io::ArrayInputStream;
  const auto open = [&sent] {
    return std::make_unique<ArrayInputStream>(sent.bytes.data(), static_cast<int>(sent.bytes.size()));
  };
  call_->OnBytes(open, sent.arrival.value_or(absl::Now()));
}

void SimStream::Write(OutMessage message) {
  MutexLock lock(mu_);
  EXPECT_FALSE(writing_.has_value()) << "two writes at once";
  EXPECT_FALSE(finished_) << "a write after Finish";
  if (!cancelled_) {
    std::string bytes = message.head;
    if (message.payload.size() > 0) {
      bytes.append(reinterpret_cast<const char*>(message.payload.data()), message.payload.size());
    }
    EXPECT_TRUE(received_.emplace_back().ParseFromString(bytes));
  }
  writing_ = std::move(message);
  unanswered_ = true;
  if (cancelled_ || !held_) PostWritten(Delay(wire_.write_delay_max), !cancelled_);
}

void SimStream::PostWritten(absl::Duration delay, bool ok) {
  unanswered_ = false;
  Post(delay, [this, ok] {
    {
      MutexLock event_lock(mu_);
      writing_.reset();
    }
    call_->OnWritten(ok);
  });
}

void SimStream::Finish(const absl::Status& status) {
  MutexLock lock(mu_);
  EXPECT_FALSE(finished_) << "Finish twice";
  EXPECT_FALSE(writing_.has_value()) << "Finish during a write";
  finished_ = true;
  status_ = cancelled_ ? absl::CancelledError("by the client") : status;
  if (std::exchange(reading_, false)) PostRead();
  Post(absl::ZeroDuration(), [] {});  // OnDone comes from an event of ours, not from within Finish
}

void SimStream::Post(absl::Duration delay, std::function<void()> event) {
  ++events_;
  reactions_.Post(delay, [self = shared_from_this(), event = std::move(event)] {
    event();
    self->EventEnded();
  });
}

void SimStream::EventEnded() {
  std::shared_ptr<SimStream> self;
  {
    MutexLock lock(mu_);
    --events_;
    if (!finished_ || events_ > 0 || std::exchange(ended_, true)) return;
  }
  call_->OnDone();
  {
    MutexLock lock(mu_);
    done_ = true;
    self = std::move(self_);
  }
  changed_.NotifyAll();
}

absl::Duration SimStream::Delay(absl::Duration max) {
  return max * std::uniform_real_distribution<double>(0, 1)(random_);
}

}  // namespace engram
