// The sessions of all clients: compressed ids by position, so that look-back reaches across chunks, rewinds and
// hand-over.

#ifndef ENGRAM_SERVER_SESSION_STORE_H_
#define ENGRAM_SERVER_SESSION_STORE_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace engram {

struct SessionLimits {
  uint64_t history_bytes_max = uint64_t{1} << 30;
  uint64_t tokens_max = uint64_t{1} << 20;
  uint32_t sessions_max = 65536;
  // What one client (name space) may have of sessions_max and hold of history_bytes_max; 100: all.
  uint32_t client_share_percent = 100;

  // At least 1.
  uint64_t ClientShareOf(uint64_t max) const {
    return std::max<uint64_t>(1, max / 100 * client_share_percent + max % 100 * client_share_percent / 100);
  }
};

// Private name spaces begin with it. No client_id does: it is no UTF-8, and Protobuf strings are.
inline constexpr char kPrivateClientPrefix[] = "\xff";

class SessionStore;
class Session;  // session_state.h

// Counts a step in flight on a session while it lives. Movable.
class SessionUse {
 public:
  SessionUse() = default;
  SessionUse(SessionUse&& other) noexcept;
  SessionUse& operator=(SessionUse&& other) noexcept;
  ~SessionUse();

 private:
  friend class SessionStore;
  SessionUse(SessionStore* store, std::shared_ptr<Session> session) : store_(store), session_(std::move(session)) {}
  SessionStore* store_ = nullptr;
  std::shared_ptr<Session> session_;
};

// Whose session: streams that named the same client_id in Hello share a name space; an empty client_id gets one of its
// own.
struct SessionKey {
  std::string client;  // name space: a client_id, or a private name made by SessionStore::PrivateClient
  uint64_t session_id = 0;
};

// How a write is seeded: what stands just before start_pos.
struct SessionSeed {
  enum class Kind { kNone, kIds, kFork } kind = Kind::kNone;
  std::vector<int32_t> ids;  // kIds: compressed ids just before start_pos, oldest first
  SessionKey fork_from;      // kFork: whose history up to start_pos
};

// A segment that validation let through, to be applied.
struct SessionWrite {
  SessionKey key;  // session_id 0: stateless
  uint64_t start_pos = 0;
  SessionSeed seed;
  absl::Span<const int32_t> ids;  // compressed ids to write at start_pos (kDead = masked)
  uint64_t stream_id = 0;         // of the stream that writes
};

struct SessionWritten {
  std::vector<int32_t> lookback;  // the min(start_pos, lookback_max) ids before start_pos, oldest first
  std::vector<int32_t> tail;      // the min(length, lookback_max) ids before the new length: the exported hash state
  uint64_t length = 0;
  SessionUse use;  // empty for session_id 0
};

// Thread-safe; outlives every SessionUse. History is stored in chunks of int32 and counted exactly against
// history_bytes_max, with a fixed amount for each session.
class SessionStore {
 public:
  SessionStore(SessionLimits limits, uint32_t lookback_max);
  ~SessionStore();

  // A name space that no client_id can name, for one stream; ForgetClient ends it.
  std::string PrivateClient();
  void ForgetClient(const std::string& client);

  // Applies one segment, whole or not at all.
  //   FAILED_PRECONDITION  start_pos beyond the length; look-back before the session's base or trimmed away; unknown or
  //   too
  //                        short fork source: names the position and the known history.
  //   ABORTED              the session has steps in flight on another stream.
  //   RESOURCE_EXHAUSTED   tokens_max, the client's share where no idle session of its own can give way, or
  //   sessions_max or
  //                        history_bytes_max where none at all can, with the bound.
  // Required: kIds holds at least min(start_pos, lookback_max) and at most start_pos ids; start_pos + ids.size() <
  // 2^64.
  absl::StatusOr<SessionWritten> Write(const SessionWrite& write);

  // Forgets a session; an unknown one is ignored. Steps in flight keep what they captured. ABORTED as Write.
  absl::Status Close(const SessionKey& key, uint64_t stream_id);

  // For metrics and tests.
  uint64_t history_bytes() const;
  size_t sessions() const;

 private:
  friend class SessionUse;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace engram

#endif  // ENGRAM_SERVER_SESSION_STORE_H_
