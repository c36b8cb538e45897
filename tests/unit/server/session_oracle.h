// What a session store without any bound would answer, too simple to be wrong.

#ifndef ENGRAM_TESTS_UNIT_SERVER_SESSION_ORACLE_H_
#define ENGRAM_TESTS_UNIT_SERVER_SESSION_ORACLE_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "server/session_store.h"
#include "tests/unit/server/session_fixture.h"

namespace engram {

// A session as a plain list of ids from its base on.
struct OracleSession {
  uint64_t base = 0;
  Ids ids;
  int steps = 0;
  uint64_t stream = 0;

  uint64_t length() const { return base + ids.size(); }
};

struct OracleAnswer {
  absl::StatusCode code = absl::StatusCode::kOk;
  Ids lookback = {};
  Ids tail = {};
  uint64_t length = 0;
  std::shared_ptr<OracleSession> session = nullptr;
};

class Oracle {
 public:
  OracleAnswer Write(const SessionWrite& write) {
    auto found = Find(write.key);
    if (found != nullptr && found->steps != 0 && found->stream != write.stream_id) {
      return {.code = absl::StatusCode::kAborted};
    }
    OracleSession next = found == nullptr ? OracleSession{} : *found;
    if (!Seed(write, next)) return {.code = absl::StatusCode::kFailedPrecondition};
    OracleAnswer answer{.lookback = Last(next)};
    next.ids.insert(next.ids.end(), write.ids.begin(), write.ids.end());
    answer.tail = Last(next);
    answer.length = next.length();
    if (write.key.session_id != 0) {
      answer.session = found == nullptr ? std::make_shared<OracleSession>() : found;
      next.steps = answer.session->steps + 1;
      next.stream = write.stream_id;
      *answer.session = next;
      sessions_[{write.key.client, write.key.session_id}] = answer.session;
    }
    return answer;
  }

  absl::StatusCode Close(const SessionKey& key, uint64_t stream) {
    auto found = Find(key);
    if (found != nullptr && found->steps != 0 && found->stream != stream) return absl::StatusCode::kAborted;
    sessions_.erase({key.client, key.session_id});
    return absl::StatusCode::kOk;
  }

  std::shared_ptr<OracleSession> Find(const SessionKey& key) const {
    const auto found = sessions_.find({key.client, key.session_id});
    return found == sessions_.end() ? nullptr : found->second;
  }

  size_t size() const { return sessions_.size(); }

 private:
  static Ids Last(const OracleSession& session) {
    const size_t count = std::min<size_t>(session.ids.size(), kLookback);
    return Ids(session.ids.end() - static_cast<ptrdiff_t>(count), session.ids.end());
  }

  // Cuts `next` at start_pos, whatever the seed; false where look-back is not known.
  bool Seed(const SessionWrite& write, OracleSession& next) const {
    if (write.seed.kind == SessionSeed::Kind::kIds) {
      next.base = write.start_pos - write.seed.ids.size();
      next.ids = write.seed.ids;
      return true;
    }
    if (write.seed.kind == SessionSeed::Kind::kFork) {
      const auto source = Find(write.seed.fork_from);
      if (source == nullptr) return false;
      next.base = source->base;
      next.ids = source->ids;
    }
    if (write.start_pos == 0) next.base = 0;
    const uint64_t needed = write.start_pos - std::min<uint64_t>(write.start_pos, kLookback);
    if (write.start_pos > next.length() || needed < next.base) return false;
    next.ids.resize(write.start_pos - next.base);
    return true;
  }

  std::map<std::pair<std::string, uint64_t>, std::shared_ptr<OracleSession>> sessions_;
};

}  // namespace engram

#endif  // ENGRAM_TESTS_UNIT_SERVER_SESSION_ORACLE_H_
