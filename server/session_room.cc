// The sessions' places in the store: by name, by order of use, and within the budget.

#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "model/check.h"
#include "server/session_state.h"

namespace engram {

SessionStore::State::State(SessionLimits session_limits, uint32_t session_lookback_max)
    : limits(session_limits),
      lookback_max(session_lookback_max),
      all{limits.sessions_max, limits.history_bytes_max, std::make_shared<HistoryTally>()} {}

SessionSpace& SessionStore::State::EnterSpace(const std::string& client) {
  if (const auto found = clients_.find(client); found != clients_.end()) {
    found->second.written = true;
    return found->second;
  }
  const SessionBudget share{limits.ClientShareOf(limits.sessions_max), limits.ClientShareOf(limits.history_bytes_max),
                            std::make_shared<HistoryTally>(all.held)};
  const auto made = clients_.try_emplace(client, SessionSpace{nullptr, share, true}).first;
  made->second.client = &made->first;
  return made->second;
}

void SessionStore::State::LeaveSpace(SessionSpace& space) {
  space.written = false;
  DropEmpty(space);
}

void SessionStore::State::DropEmpty(SessionSpace& space) {
  if (space.sessions.empty() && !space.written) clients_.erase(clients_.find(*space.client));
}

std::shared_ptr<Session> SessionStore::State::Find(const SessionKey& key) const {
  const auto client = clients_.find(key.client);
  if (client == clients_.end()) return nullptr;
  const auto session = client->second.sessions.find(key.session_id);
  return session == client->second.sessions.end() ? nullptr : session->second;
}

std::shared_ptr<Session> SessionStore::State::Insert(uint64_t session_id, SessionSpace& space) {
  auto session = std::make_shared<Session>(session_id, &space, space.budget.held);
  space.sessions.emplace(session_id, session);
  space.budget.held->Add(kSessionBytes);
  ++space.budget.sessions;
  ++all.sessions;
  return session;
}

void SessionStore::State::Remove(Session& session) {
  Unlist(session);
  SessionSpace& space = *std::exchange(session.space, nullptr);
  session.history = History(space.budget.held);
  space.budget.held->Subtract(kSessionBytes);
  --space.budget.sessions;
  --all.sessions;
  space.sessions.erase(session.id);  // may end the session's life
  DropEmpty(space);
}

void SessionStore::State::ForgetClient(const std::string& client) {
  const auto space = clients_.find(client);
  if (space == clients_.end()) return;
  std::vector<std::shared_ptr<Session>> forgotten;
  for (const auto& [id, session] : space->second.sessions) forgotten.push_back(session);
  for (const std::shared_ptr<Session>& session : forgotten) Remove(*session);
}

void SessionStore::State::Release(Session& session) {
  --session.steps_in_flight;
  if (session.steps_in_flight == 0 && session.space != nullptr) Enlist(session);
}

void SessionStore::State::Enlist(Session& session) {
  session.idle = true;
  session.trimmable = session.history.CanTrimBefore(TrimPosition(session.history.length()));
  const auto enlist = [&session](SessionBudget& budget, IdlePlace& place) {
    place.idle = budget.idle.insert(budget.idle.end(), &session);
    if (session.trimmable) place.trimmable = budget.trimmable.insert(budget.trimmable.end(), &session);
  };
  enlist(all, session.in_all);
  enlist(session.space->budget, session.in_space);
}

void SessionStore::State::Unlist(Session& session) {
  if (!std::exchange(session.idle, false)) return;
  UnlistTrimmable(session);
  all.idle.erase(session.in_all.idle);
  session.space->budget.idle.erase(session.in_space.idle);
}

void SessionStore::State::UnlistTrimmable(Session& session) {
  if (!std::exchange(session.trimmable, false)) return;
  all.trimmable.erase(session.in_all.trimmable);
  session.space->budget.trimmable.erase(session.in_space.trimmable);
}

void SessionStore::State::Trim(Session& session) {
  UnlistTrimmable(session);
  session.history.TrimBefore(TrimPosition(session.history.length()));
}

// Least recently used first, until it is `enough`. A chunk goes with the last history that holds it: what sessions in
// flight, or the write at hand, share with idle sessions stays. A client may hold chunks that another one wrote.
uint64_t SessionStore::State::BytesOfIdle(uint64_t enough, const SessionBudget& budget) const {
  absl::flat_hash_map<const HistoryChunk*, long> holders;
  uint64_t freed = 0;
  for (const Session* session : budget.idle) {
    if (freed >= enough) break;
    freed += kSessionBytes + session->history.ReferenceBytes();
    for (const std::shared_ptr<HistoryChunk>& chunk : session->history.chunks()) {
      const bool counts = &budget == &all || chunk->tally == budget.held;
      if (++holders[chunk.get()] == chunk.use_count() && counts) freed += History::kChunkBytes;
    }
  }
  return freed;
}

SessionStore::State::Missing SessionStore::State::MissingFor(int64_t growth, const SessionBudget& budget) const {
  if (budget.Fits(growth)) return {};
  const uint64_t missing = budget.held->bytes() + static_cast<uint64_t>(growth) - budget.history_bytes_max;
  const uint64_t freed = BytesOfIdle(missing, budget);
  return {freed < missing, budget.held->bytes() - freed};
}

absl::Status SessionStore::State::CheckShare(const Plan& plan, bool is_new, const SessionBudget& share) const {
  if (is_new && share.sessions >= share.sessions_max && share.idle.empty()) {
    return absl::ResourceExhaustedError(absl::StrCat("a new session: a client may have ", share.sessions_max, " (",
                                                     limits.client_share_percent,
                                                     " % of sessions_max), and all of its own have steps in flight"));
  }
  const Missing missing = MissingFor(plan.growth_trimmed, share);
  if (!missing.any) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("the segment needs ", plan.growth_trimmed, " more bytes of history: a client may hold ",
                   share.history_bytes_max, " (", limits.client_share_percent, " % of history_bytes_max), of which ",
                   missing.held, " are held by its sessions with steps in flight"));
}

absl::Status SessionStore::State::CheckRoom(const Plan& plan, bool is_new) const {
  if (is_new && all.sessions >= limits.sessions_max && all.idle.empty()) {
    return absl::ResourceExhaustedError(absl::StrCat("a new session: sessions_max ", limits.sessions_max,
                                                     " sessions are open and all have steps in flight"));
  }
  const Missing missing = MissingFor(plan.growth_trimmed, all);
  if (!missing.any) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "the segment needs ", plan.growth_trimmed, " more bytes of history: history_bytes_max is ",
      limits.history_bytes_max, ", of which ", missing.held, " are held by sessions with steps in flight"));
}

absl::Status SessionStore::State::MakeRoom(const Plan& plan, SessionSpace& space, Session* target) {
  // The session that is written gives way last, and by its oldest positions only.
  const bool is_new = target == nullptr;
  const bool was_idle = !is_new && target->idle;
  if (was_idle) Unlist(*target);
  // Asked before anything goes: a refused write costs nobody history.
  absl::Status room;
  if (limits.client_share_percent < 100) room = CheckShare(plan, is_new, space.budget);
  if (room.ok()) room = CheckRoom(plan, is_new);
  if (room.ok()) {
    Evict(plan, is_new, space.budget);
    Evict(plan, is_new, all);
  }
  if (was_idle) Enlist(*target);
  if (!room.ok() || (space.budget.Fits(plan.growth) && all.Fits(plan.growth))) return room;
  ENGRAM_CHECK(!is_new && all.Fits(plan.growth_trimmed));
  target->history.TrimBefore(plan.trim);
  return absl::OkStatus();
}

void SessionStore::State::Evict(const Plan& plan, bool is_new, SessionBudget& budget) {
  if (is_new && budget.sessions >= budget.sessions_max) Remove(*budget.idle.front());
  while (!budget.Fits(plan.growth) && !budget.trimmable.empty()) Trim(*budget.trimmable.front());
  while (!budget.Fits(plan.growth_trimmed) && !budget.idle.empty()) Remove(*budget.idle.front());
}

}  // namespace engram
