#include "server/grpc/stream_registry.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/grpc/stream_reactor.h"

namespace engram {

absl::Status StreamRegistry::Add(std::shared_ptr<StreamReactor> reactor) {
  MutexLock lock(mu_);
  if (!closed_.ok()) return closed_;
  if (reactors_.size() >= streams_max_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the server has streams_max = ", streams_max_, " streams open; close one or wait"));
  }
  const StreamReactor* key = reactor.get();
  reactors_.emplace(key, std::move(reactor));
  return absl::OkStatus();
}

void StreamRegistry::Remove(const StreamReactor* reactor) {
  std::shared_ptr<StreamReactor> removed;  // destroyed outside the lock
  MutexLock lock(mu_);
  const auto found = reactors_.find(reactor);
  if (found == reactors_.end()) return;
  removed = std::move(found->second);
  reactors_.erase(found);
  if (reactors_.empty()) emptied_.NotifyAll();
}

void StreamRegistry::Close(absl::Status why) {
  MutexLock lock(mu_);
  closed_ = std::move(why);
}

std::vector<std::shared_ptr<StreamReactor>> StreamRegistry::All() {
  MutexLock lock(mu_);
  std::vector<std::shared_ptr<StreamReactor>> all;
  all.reserve(reactors_.size());
  for (const auto& [key, reactor] : reactors_) all.push_back(reactor);
  return all;
}

bool StreamRegistry::WaitEmpty(absl::Duration wait) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + absl::ToChronoMicroseconds(std::min(wait, absl::Hours(2)));
  MutexLock lock(mu_);
  for (auto now = Clock::now(); !reactors_.empty() && now < end; now = Clock::now()) {
    emptied_.WaitFor(mu_, absl::FromChrono(end - now));
  }
  return reactors_.empty();
}

}  // namespace engram
