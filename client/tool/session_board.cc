#include "client/tool/session_board.h"

#include <algorithm>
#include <utility>

namespace engram {

void SessionBoard::Publish(Entry entry) {
  MutexLock lock(mu_);
  entries_.push_back(std::move(entry));
}

void SessionBoard::Withdraw(const Entry& entry) {
  MutexLock lock(mu_);
  entries_.erase(std::remove(entries_.begin(), entries_.end(), entry), entries_.end());
}

SessionBoard::Entry SessionBoard::Any(TrafficRandom& random) const {
  MutexLock lock(mu_);
  return entries_.empty() ? nullptr : entries_[random() % entries_.size()];
}

}  // namespace engram
