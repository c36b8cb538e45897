#include "server/session_store.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/session_state.h"

namespace engram {

SessionUse::SessionUse(SessionUse&& other) noexcept
    : store_(std::exchange(other.store_, nullptr)), session_(std::move(other.session_)) {}

SessionUse& SessionUse::operator=(SessionUse&& other) noexcept {
  std::swap(store_, other.store_);
  session_.swap(other.session_);
  return *this;
}

SessionUse::~SessionUse() {
  if (store_ == nullptr) return;
  MutexLock lock(store_->state_->mu);
  store_->state_->Release(*session_);
}

SessionStore::SessionStore(SessionLimits limits, uint32_t lookback_max)
    : state_(std::make_unique<State>(limits, lookback_max)) {}

SessionStore::~SessionStore() = default;

std::string SessionStore::PrivateClient() {
  MutexLock lock(state_->mu);
  return absl::StrCat(kPrivateClientPrefix, ++state_->private_clients);
}

void SessionStore::ForgetClient(const std::string& client) {
  MutexLock lock(state_->mu);
  state_->ForgetClient(client);
}

absl::StatusOr<SessionWritten> SessionStore::Write(const SessionWrite& write) {
  MutexLock lock(state_->mu);
  if (write.key.session_id == 0) return state_->Stateless(write);
  std::shared_ptr<Session> session;
  absl::StatusOr<SessionWritten> written = state_->Write(write, &session);
  if (written.ok()) written->use = SessionUse(this, std::move(session));
  return written;
}

absl::Status SessionStore::Close(const SessionKey& key, uint64_t stream_id) {
  MutexLock lock(state_->mu);
  return state_->Close(key, stream_id);
}

uint64_t SessionStore::history_bytes() const {
  MutexLock lock(state_->mu);
  return state_->all.held->bytes();
}

size_t SessionStore::sessions() const {
  MutexLock lock(state_->mu);
  return state_->all.sessions;
}

}  // namespace engram
