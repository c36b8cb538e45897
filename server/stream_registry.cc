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
  MutexLock lock(mu_);
  if (!closed_.ok()) return closed_;
  if (calls_.size() >= streams_max_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the server has streams_max = ", streams_max_, " streams open; close one or wait"));
  }
  const StreamCall* key = call.get();
  calls_.emplace(key, std::move(call));
  return absl::OkStatus();
}

void StreamRegistry::Remove(const StreamCall* call) {
  std::shared_ptr<StreamCall> removed;  // destroyed outside the lock
  MutexLock lock(mu_);
  const auto found = calls_.find(call);
  if (found == calls_.end()) return;
  removed = std::move(found->second);
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
  for (const auto& [key, call] : calls_) all.push_back(call);
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

bool StreamRegistry::WaitEmpty(absl::Duration wait) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + absl::ToChronoMicroseconds(std::min(wait, absl::Hours(2)));
  MutexLock lock(mu_);
  for (auto now = Clock::now(); !calls_.empty() && now < end; now = Clock::now()) {
    emptied_.WaitFor(mu_, absl::FromChrono(end - now));
  }
  return calls_.empty();
}

}  // namespace engram
