// What is behind SessionStore: the sessions by name, their order of use, and the budget. Private to
// server/session_*.cc.

#ifndef ENGRAM_SERVER_SESSION_STATE_H_
#define ENGRAM_SERVER_SESSION_STATE_H_

#include <algorithm>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <utility>
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

struct SessionSpace;
class Session;

// What the sessions of one client, or of all, may take and do take, and which can give way: those without steps in
// flight, least recently used first.
struct SessionBudget {
  bool Fits(int64_t growth) const {
    return growth <= 0 || static_cast<uint64_t>(growth) + held->bytes() <= history_bytes_max;
  }

  const uint64_t sessions_max;
  const uint64_t history_bytes_max;
  const std::shared_ptr<HistoryTally> held;
  uint64_t sessions = 0;
  std::list<Session*> idle = {};
  std::list<Session*> trimmable = {};  // those of `idle` with more history than trimming leaves
};

// Where a session stands in the lists of a budget.
struct IdlePlace {
  std::list<Session*>::iterator idle;
  std::list<Session*>::iterator trimmable;
};

// One session. Guarded by the store's mutex; outlives its place in the store while steps use it.
class Session {
 public:
  Session(uint64_t session_id, SessionSpace* session_space, std::shared_ptr<HistoryTally> tally)
      : id(session_id), space(session_space), history(std::move(tally)) {}

  const uint64_t id;
  SessionSpace* space;           // null once removed from the store
  History history;               // empty once removed
  uint64_t steps_in_flight = 0;  // all on one stream
  uint64_t stream_id = 0;        // that stream
  bool idle = false;             // in both budgets' `idle`
  bool trimmable = false;        // in both budgets' `trimmable`
  IdlePlace in_all;
  IdlePlace in_space;
};

// The sessions of one client. There while it has any, or is written to.
struct SessionSpace {
  const std::string* client = nullptr;  // its key in the store
  SessionBudget budget;
  bool written = false;  // by the write at hand, which may evict its last session
  absl::flat_hash_map<uint64_t, std::shared_ptr<Session>> sessions = {};
};

// Idle sessions are those without steps in flight. A write makes room for what it adds: first the oldest positions of
// idle sessions go, least recently used sessions first; then whole idle sessions, or the oldest positions of the
// session that is written; if that is not enough the write is refused. A client whose share is used up makes that room
// among its own sessions; only then is room made among all.
struct SessionStore::State {
  // What a session counts for besides its history: the object, its places in maps and lists, a share of the client's
  // name.
  static constexpr uint64_t kSessionBytes = 512;
  // Positions that trimming leaves besides the look-back, so that rejected drafts can still be rolled back.
  static constexpr uint64_t kTrimKeepsTokens = 64;

  State(SessionLimits session_limits, uint32_t session_lookback_max);

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
  SessionBudget all ABSL_GUARDED_BY(mu);
  uint64_t private_clients ABSL_GUARDED_BY(mu) = 0;

 private:
  // What a write replaces a session's history by, and what that costs.
  struct Plan {
    bool replaces = false;  // `fresh`, then seed and ids; else the session's own history is continued
    History fresh;
    int64_t growth = 0;          // of the bytes of all
    int64_t growth_trimmed = 0;  // the same where the session's own oldest positions may go as well
    uint64_t trim = 0;           // up to where
  };

  // The space of a client that is written to, until LeaveSpace.
  SessionSpace& EnterSpace(const std::string& client) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void LeaveSpace(SessionSpace& space) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void DropEmpty(SessionSpace& space) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  std::shared_ptr<Session> Find(const SessionKey& key) const ABSL_SHARED_LOCKS_REQUIRED(mu);
  absl::Status CheckWritable(const SessionWrite& write, const Session* target) const ABSL_SHARED_LOCKS_REQUIRED(mu);
  absl::StatusOr<std::shared_ptr<Session>> ForkSource(const SessionWrite& write) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  absl::StatusOr<Plan> MakePlan(const SessionWrite& write, const SessionSpace& space, const Session* target)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  absl::StatusOr<SessionWritten> WriteIn(SessionSpace& space, const SessionWrite& write,
                                         std::shared_ptr<Session>* written_session) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  // Refuses without a change, or makes room by trimming and evicting.
  absl::Status MakeRoom(const Plan& plan, SessionSpace& space, Session* target) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  absl::Status CheckShare(const Plan& plan, bool is_new, const SessionBudget& share) const
      ABSL_SHARED_LOCKS_REQUIRED(mu);
  absl::Status CheckRoom(const Plan& plan, bool is_new) const ABSL_SHARED_LOCKS_REQUIRED(mu);
  void Evict(const Plan& plan, bool is_new, SessionBudget& budget) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  // Bytes of the budget that would still be missing for `growth` with all its idle sessions evicted, and what those in
  // flight hold of it then.
  struct Missing {
    bool any = false;
    uint64_t held = 0;
  };
  Missing MissingFor(int64_t growth, const SessionBudget& budget) const ABSL_SHARED_LOCKS_REQUIRED(mu);
  // What evicting idle sessions would free of the budget, counted until it is `enough`.
  uint64_t BytesOfIdle(uint64_t enough, const SessionBudget& budget) const ABSL_SHARED_LOCKS_REQUIRED(mu);
  std::shared_ptr<Session> Insert(uint64_t session_id, SessionSpace& space) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void Remove(Session& session) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);  // and the space, when it was its last session
  void Trim(Session& session) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void Enlist(Session& session) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);  // as the most recently used
  void Unlist(Session& session) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void UnlistTrimmable(Session& session) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  uint64_t TrimPosition(uint64_t length) const {
    return length - std::min<uint64_t>(length, lookback_max + kTrimKeepsTokens);
  }
  uint64_t LookbackBegin(uint64_t position) const { return position - std::min<uint64_t>(position, lookback_max); }

  absl::node_hash_map<std::string, SessionSpace> clients_ ABSL_GUARDED_BY(mu);
};

}  // namespace engram

#endif  // ENGRAM_SERVER_SESSION_STATE_H_
