// The sessions' places in the store: by name, by order of use, and within the budget.

#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "model/check.h"
#include "server/session_state.h"

namespace engram {

std::shared_ptr<Session> SessionStore::State::Find(const SessionKey& key) const {
  const auto client = clients_.find(key.client);
  if (client == clients_.end()) return nullptr;
  const auto session = client->second.find(key.session_id);
  return session == client->second.end() ? nullptr : session->second;
}

std::shared_ptr<Session> SessionStore::State::Insert(const SessionKey& key) {
  const auto client = clients_.try_emplace(key.client).first;
  auto session = std::make_shared<Session>(key.session_id, &client->first, &bytes);
  client->second.emplace(key.session_id, session);
  bytes += kSessionBytes;
  ++sessions;
  return session;
}

void SessionStore::State::Remove(Session& session) {
  Unlist(session);
  session.history = History(&bytes);
  bytes -= kSessionBytes;
  --sessions;
  const auto client = clients_.find(*std::exchange(session.client, nullptr));
  client->second.erase(session.id);  // may end the session's life
  if (client->second.empty()) clients_.erase(client);
}

void SessionStore::State::ForgetClient(const std::string& client) {
  const auto space = clients_.find(client);
  if (space == clients_.end()) return;
  std::vector<std::shared_ptr<Session>> forgotten;
  for (const auto& [id, session] : space->second) forgotten.push_back(session);
  for (const std::shared_ptr<Session>& session : forgotten) Remove(*session);
}

void SessionStore::State::Release(Session& session) {
  --session.steps_in_flight;
  if (session.steps_in_flight == 0 && session.client != nullptr) Enlist(session);
}

void SessionStore::State::Enlist(Session& session) {
  session.idle = true;
  session.idle_at = idle_.insert(idle_.end(), &session);
  if (!session.history.CanTrimBefore(TrimPosition(session.history.length()))) return;
  session.trimmable = true;
  session.trimmable_at = trimmable_.insert(trimmable_.end(), &session);
}

void SessionStore::State::Unlist(Session& session) {
  if (std::exchange(session.idle, false)) idle_.erase(session.idle_at);
  if (std::exchange(session.trimmable, false)) trimmable_.erase(session.trimmable_at);
}

bool SessionStore::State::Fits(int64_t growth) const {
  return growth <= 0 || static_cast<uint64_t>(growth) + bytes <= limits.history_bytes_max;
}

// Least recently used first, until it is `enough`. A chunk goes with the last history that holds it: what sessions in
// flight, or the write at hand, share with idle sessions stays.
uint64_t SessionStore::State::BytesOfIdle(uint64_t enough) const {
  absl::flat_hash_map<const HistoryChunk*, long> holders;
  uint64_t freed = 0;
  for (const Session* session : idle_) {
    if (freed >= enough) break;
    freed += kSessionBytes + session->history.ReferenceBytes();
    for (const std::shared_ptr<HistoryChunk>& chunk : session->history.chunks()) {
      if (++holders[chunk.get()] == chunk.use_count()) freed += History::kChunkBytes;
    }
  }
  return freed;
}

absl::Status SessionStore::State::CheckRoom(const Plan& plan, bool is_new) const {
  if (plan.growth_trimmed > 0 && static_cast<uint64_t>(plan.growth_trimmed) > limits.history_bytes_max) {
    return absl::ResourceExhaustedError(absl::StrCat("the segment needs ", plan.growth_trimmed,
                                                     " bytes of history: history_bytes_max is ",
                                                     limits.history_bytes_max));
  }
  if (is_new && sessions >= limits.sessions_max && idle_.empty()) {
    return absl::ResourceExhaustedError(absl::StrCat("a new session: sessions_max ", limits.sessions_max,
                                                     " sessions are open and all have steps in flight"));
  }
  if (Fits(plan.growth_trimmed)) return absl::OkStatus();
  const uint64_t missing = bytes + static_cast<uint64_t>(plan.growth_trimmed) - limits.history_bytes_max;
  const uint64_t freed = BytesOfIdle(missing);
  if (freed >= missing) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "the segment needs ", plan.growth_trimmed, " more bytes of history: history_bytes_max is ",
      limits.history_bytes_max, ", of which ", bytes - freed, " are held by sessions with steps in flight"));
}

absl::Status SessionStore::State::MakeRoom(const Plan& plan, Session* target) {
  // The session that is written gives way last, and by its oldest positions only.
  const bool was_idle = target != nullptr && target->idle;
  if (was_idle) Unlist(*target);
  // Asked before anything goes: a refused write costs nobody history.
  const absl::Status room = CheckRoom(plan, target == nullptr);
  if (room.ok()) Evict(plan, target == nullptr);
  if (was_idle) Enlist(*target);
  if (!room.ok() || Fits(plan.growth)) return room;
  ENGRAM_CHECK(target != nullptr && Fits(plan.growth_trimmed));
  target->history.TrimBefore(plan.trim);
  return absl::OkStatus();
}

void SessionStore::State::Evict(const Plan& plan, bool is_new) {
  if (is_new && sessions >= limits.sessions_max) Remove(*idle_.front());
  while (!Fits(plan.growth) && !trimmable_.empty()) {
    Session& session = *trimmable_.front();
    trimmable_.erase(session.trimmable_at);
    session.trimmable = false;
    session.history.TrimBefore(TrimPosition(session.history.length()));
  }
  while (!Fits(plan.growth_trimmed) && !idle_.empty()) Remove(*idle_.front());
}

}  // namespace engram
