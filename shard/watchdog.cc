#include "shard/watchdog.h"

#include <unistd.h>

#include <cstdio>
#include <utility>

namespace engram {
namespace {

constexpr int kRankLostExitCode = 75;

}  // namespace

Watchdog::Watchdog(std::string what, absl::Duration limit)
    : what_(std::move(what)), thread_([this, limit] { Watch(limit); }) {}

Watchdog::~Watchdog() {
  {
    MutexLock lock(mu_);
    done_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

void Watchdog::Watch(absl::Duration limit) {
  const Deadline deadline = DeadlineAfter(limit);
  MutexLock lock(mu_);
  while (!done_) {
    if (HasPassed(deadline)) {
      std::fprintf(stderr, "%s did not end within %s: a rank is lost\n", what_.c_str(),
                   absl::FormatDuration(limit).c_str());
      _exit(kRankLostExitCode);
    }
    changed_.WaitUntil(mu_, deadline);
  }
}

}  // namespace engram
