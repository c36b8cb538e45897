#include "shard/in_process_group.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace engram {
namespace {

// A copy of so much costs less than the sender's wait for its reader.
constexpr size_t kCopiedBytesMax = 64 * 1024;

}  // namespace

InProcessGroup::InProcessGroup(int ranks)
    : ranks_(ranks),
      changed_(static_cast<size_t>(ranks)),
      channels_(static_cast<size_t>(ranks) * static_cast<size_t>(ranks)),
      lent_(static_cast<size_t>(ranks)) {}

InProcessGroup::Channel& InProcessGroup::ChannelOf(int from, int to) {
  return channels_[static_cast<size_t>(from) * static_cast<size_t>(ranks_) + static_cast<size_t>(to)];
}

void InProcessGroup::Post(int from, int to, absl::Span<const std::byte> bytes) {
  auto message = std::make_shared<Message>();
  message->to = to;
  const bool copied = bytes.size() <= kCopiedBytesMax;
  if (copied) message->copy.assign(bytes.begin(), bytes.end());
  message->bytes = copied ? absl::MakeConstSpan(message->copy) : bytes;
  MutexLock lock(mu_);
  if (!copied) lent_[static_cast<size_t>(from)].push_back(message);
  ChannelOf(from, to).push_back(std::move(message));
  changed_[static_cast<size_t>(to)].NotifyAll();
}

std::string InProcessGroup::Unread(int from, bool give_up, bool& reading) {
  std::string unread;
  reading = false;
  for (const std::shared_ptr<Message>& message : lent_[static_cast<size_t>(from)]) {
    reading = reading || message->state == State::kReading;
    if (message->state != State::kPosted) continue;
    absl::StrAppend(&unread, unread.empty() ? "" : ", ", message->to);
    if (!give_up) continue;
    Channel& channel = ChannelOf(from, message->to);
    channel.erase(std::remove(channel.begin(), channel.end(), message), channel.end());
  }
  return unread;
}

absl::Status InProcessGroup::Flush(int from, Deadline deadline) {
  MutexLock lock(mu_);
  bool reading = false;
  std::string unread = Unread(from, false, reading);
  while ((reading || !unread.empty()) && !closed_ && !HasPassed(deadline)) {
    changed_[static_cast<size_t>(from)].WaitUntil(mu_, deadline);
    unread = Unread(from, false, reading);
  }
  unread = Unread(from, true, reading);
  // A reader in the middle of our memory is only copying: it ends by itself, and must end before we return.
  while (reading) {
    changed_[static_cast<size_t>(from)].WaitUntil(mu_, DeadlineAfter(absl::Seconds(1)));
    Unread(from, true, reading);
  }
  lent_[static_cast<size_t>(from)].clear();
  if (unread.empty()) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat(closed_ ? "the job ended before" : "no answer in time from", " rank ", unread));
}

std::shared_ptr<InProcessGroup::Message> InProcessGroup::Pop(int from, int to) {
  Channel& channel = ChannelOf(from, to);
  if (channel.empty()) return nullptr;
  std::shared_ptr<Message> message = std::move(channel.front());
  channel.pop_front();
  message->state = State::kReading;
  return message;
}

absl::Status InProcessGroup::Silence(int rank) const {
  return absl::UnavailableError(
      absl::StrCat(closed_ ? "the job ended before word came" : "no answer in time", " from rank ", rank));
}

absl::Status InProcessGroup::Take(int from, int to, size_t size, Deadline deadline,
                                  absl::FunctionRef<void(absl::Span<const std::byte>)> read) {
  std::shared_ptr<Message> message;
  {
    MutexLock lock(mu_);
    while (!closed_ && (message = Pop(from, to)) == nullptr) {
      if (HasPassed(deadline)) return Silence(from);
      changed_[static_cast<size_t>(to)].WaitUntil(mu_, deadline);
    }
    if (message == nullptr) return Silence(from);
  }
  const bool fits = message->bytes.size() == size;
  const size_t sent = message->bytes.size();
  if (fits) read(message->bytes);
  MutexLock lock(mu_);
  message->state = State::kRead;
  changed_[static_cast<size_t>(from)].NotifyAll();
  if (fits) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("a message of ", sent, " bytes from rank ", from, ", expected ", size));
}

void InProcessGroup::Close() {
  MutexLock lock(mu_);
  closed_ = true;
  for (CondVar& changed : changed_) changed.NotifyAll();
}

}  // namespace engram
