// What is behind SessionStore: the sessions by name, their order of use, and the budget. Private to
// server/session_*.cc.

#ifndef ENGRAM_SERVER_SESSION_STATE_H_
#define ENGRAM_SERVER_SESSION_STATE_H_

#include <algorithm>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/mutex.h"
#include "server/history.h"
#include "server/session_store.h"

namespace engram {

// One session. Guarded by the store's mutex; outlives its place in the store while steps use it.
class Session {
 public:
  Session(uint64_t session_id, const std::string* client_name, uint64_t* bytes)
      : id(session_id), client(client_name), history(bytes) {}

  const uint64_t id;
  const std::string* client;     // key of its name space; null once removed from the store
  History history;               // empty once removed
  uint64_t steps_in_flight = 0;  // all on one stream
  uint64_t stream_id = 0;        // that stream
  bool idle = false;             // in State::idle
  bool trimmable = false;        // in State::trimmable
  std::list<Session*>::iterator idle_at;
  std::list<Session*>::iterator trimmable_at;
};

// Idle sessions are those without steps in flight. A write makes room for what it adds: first the oldest positions of
// idle sessions go, least recently used sessions first; then whole idle sessions, or the oldest positions of the
// session that is written; if that is not enough the write is refused.
struct SessionStore::State {
  // What a session counts for besides its history: the object, its places in maps and lists, a share of the client's
  // name.
  static constexpr uint64_t kSessionBytes = 512;
  // Positions that trimming leaves besides the look-back, so that rejected drafts can still be rolled back.
  static constexpr uint64_t kTrimKeepsTokens = 64;

  State(SessionLimits session_limits, uint32_t session_lookback_max)
      : limits(session_limits), lookback_max(session_lookback_max) {}

  absl::StatusOr<SessionWritten> Stateless(const SessionWrite& write) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  // The caller makes the use of `*written_session` that this counts.
  absl::StatusOr<SessionWritten> Write(const SessionWrite& write, std::shared_ptr<Session>* written_session)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  absl::Status Close(const SessionKey& key, uint64_t stream_id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void ForgetClient(const std::string& client) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void Release(Session& session) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);

  // Constant after construction.
  const SessionLimits limits;
  const uint32_t lookback_max;

  Mutex mu;
  // Held by all histories, so it outlives the maps below. Changed only under mu.
  uint64_t bytes = 0;
  uint64_t private_clients ABSL_GUARDED_BY(mu) = 0;
  uint64_t sessions ABSL_GUARDED_BY(mu) = 0;

 private:
  using Space = absl::flat_hash_map<uint64_t, std::shared_ptr<Session>>;

  // What a write replaces a session's history by, and what that costs.
  struct Plan {
    bool replaces = false;  // `fresh`, then seed and ids; else the session's own history is continued
    History fresh;
    int64_t growth = 0;          // of `bytes`
    int64_t growth_trimmed = 0;  // the same where the session's own oldest positions may go as well
    uint64_t trim = 0;           // up to where
  };

  std::shared_ptr<Session> Find(const SessionKey& key) const ABSL_SHARED_LOCKS_REQUIRED(mu);
  absl::Status CheckWritable(const SessionWrite& write, const Session* target) const ABSL_SHARED_LOCKS_REQUIRED(mu);
  absl::StatusOr<std::shared_ptr<Session>> ForkSource(const SessionWrite& write) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  absl::StatusOr<Plan> MakePlan(const SessionWrite& write, const Session* target) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  // Refuses without a change, or makes room by trimming and evicting.
  absl::Status MakeRoom(const Plan& plan, Session* target) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  absl::Status CheckRoom(const Plan& plan, bool is_new) const ABSL_SHARED_LOCKS_REQUIRED(mu);
  void Evict(const Plan& plan, bool is_new) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  // What evicting idle sessions would free, counted until it is `enough`.
  uint64_t BytesOfIdle(uint64_t enough) const ABSL_SHARED_LOCKS_REQUIRED(mu);
  bool Fits(int64_t growth) const ABSL_SHARED_LOCKS_REQUIRED(mu);
  std::shared_ptr<Session> Insert(const SessionKey& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void Remove(Session& session) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void Enlist(Session& session) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);  // as the most recently used
  void Unlist(Session& session) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  uint64_t TrimPosition(uint64_t length) const {
    return length - std::min<uint64_t>(length, lookback_max + kTrimKeepsTokens);
  }
  uint64_t LookbackBegin(uint64_t position) const { return position - std::min<uint64_t>(position, lookback_max); }

  absl::node_hash_map<std::string, Space> clients_ ABSL_GUARDED_BY(mu);
  std::list<Session*> idle_ ABSL_GUARDED_BY(mu);       // least recently used first
  std::list<Session*> trimmable_ ABSL_GUARDED_BY(mu);  // those of idle_ with more history than trimming leaves
};

}  // namespace engram

#endif  // ENGRAM_SERVER_SESSION_STATE_H_
