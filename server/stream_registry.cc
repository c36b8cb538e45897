#include "server/stream_registry.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/stream_call.h"

namespace engram {
namespace {

// What a client that heard Drain has to half-close before its idle stream is ended for it.
constexpr absl::Duration kDrainGrace = absl::Seconds(1);

}  // namespace

absl::Status StreamRegistry::Add(std::shared_ptr<StreamCall> call) {
  std::shared_ptr<StreamCall> gives_way;
  {
    MutexLock lock(mu_);
    if (!closed_.ok()) return closed_;
    const bool full = calls_.size() - leaving_ >= streams_max_;
    if (full) gives_way = MakeRoom();
    if (full && gives_way == nullptr) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the server has streams_max = ", streams_max_, " streams open; close one or wait"));
    }
    Open& open = calls_[call.get()];
    open.silent = silent_.insert(silent_.end(), Silent{call.get(), Clock::now()});
    open.call = std::move(call);
  }
  // Outside the lock, since it comes back to Remove.
  if (gives_way != nullptr) {
    gives_way->End(absl::DeadlineExceededError(
        absl::StrCat("no Hello for hello_timeout_ms = ", absl::ToInt64Milliseconds(hello_timeout_),
                     ", and another stream wants the place")));
  }
  return absl::OkStatus();
}

std::shared_ptr<StreamCall> StreamRegistry::MakeRoom() {
  if (silent_.empty() || absl::FromChrono(Clock::now() - silent_.front().since) < hello_timeout_) return nullptr;
  Open& open = calls_.at(silent_.front().call);
  NotSilent(open);
  open.leaving = true;
  ++leaving_;
  return open.call;
}

void StreamRegistry::SaidHello(const StreamCall* call) {
  MutexLock lock(mu_);
  if (const auto found = calls_.find(call); found != calls_.end()) NotSilent(found->second);
}

void StreamRegistry::NotSilent(Open& open) {
  if (open.silent.has_value()) silent_.erase(*std::exchange(open.silent, std::nullopt));
}

void StreamRegistry::Remove(const StreamCall* call) {
  std::shared_ptr<StreamCall> removed;  // destroyed outside the lock
  MutexLock lock(mu_);
  const auto found = calls_.find(call);
  if (found == calls_.end()) return;
  NotSilent(found->second);
  if (found->second.leaving) --leaving_;
  removed = std::move(found->second.call);
  calls_.erase(found);
  if (calls_.empty()) emptied_.NotifyAll();
}

void StreamRegistry::Close(absl::Status why) {
  MutexLock lock(mu_);
  closed_ = std::move(why);
}

std::vector<std::shared_ptr<StreamCall>> StreamRegistry::All() {
  MutexLock lock(mu_);
  std::vector<std::shared_ptr<StreamCall>> all;
  all.reserve(calls_.size());
  for (const auto& [key, open] : calls_) all.push_back(open.call);
  return all;
}

bool StreamRegistry::Drain(const std::string& why, absl::Duration timeout) {
  const absl::Status status = absl::UnavailableError(why);
  Close(status);
  for (const auto& call : All()) call->AnnounceDrain(why);
  const absl::Duration grace = std::min(kDrainGrace, timeout / 2);
  if (WaitEmpty(grace)) return true;
  for (const auto& call : All()) call->EndWhenAnswered(status);
  return WaitEmpty(timeout - grace);
}

size_t StreamRegistry::streams() {
  MutexLock lock(mu_);
  return calls_.size();
}

uint64_t StreamRegistry::answer_bytes() {
  uint64_t bytes = 0;
  for (const auto& call : All()) bytes += call->answer_bytes();
  return bytes;
}

bool StreamRegistry::WaitEmpty(absl::Duration wait) {
  const Clock::time_point end = Clock::now() + absl::ToChronoMicroseconds(std::min(wait, absl::Hours(2)));
  MutexLock lock(mu_);
  for (auto now = Clock::now(); !calls_.empty() && now < end; now = Clock::now()) {
    emptied_.WaitFor(mu_, absl::FromChrono(end - now));
  }
  return calls_.empty();
}

}  // namespace engram
