// Short words for tests of the session store.

#ifndef ENGRAM_TESTS_UNIT_SERVER_SESSION_FIXTURE_H_
#define ENGRAM_TESTS_UNIT_SERVER_SESSION_FIXTURE_H_

#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "server/session_store.h"

namespace engram {

using Ids = std::vector<int32_t>;

inline constexpr uint32_t kLookback = 3;

// `count` ids from `first` on: the id tells the position in most tests.
inline Ids IdsFrom(int32_t first, size_t count) {
  Ids ids(count);
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

inline SessionSeed SeedIds(Ids ids) {
  return {.kind = SessionSeed::Kind::kIds, .ids = std::move(ids), .fork_from = {}};
}

inline SessionSeed SeedFork(uint64_t session_id, std::string client = "a") {
  return {.kind = SessionSeed::Kind::kFork, .ids = {}, .fork_from = {std::move(client), session_id}};
}

struct WriteOptions {
  SessionSeed seed = {};
  std::string client = "a";
  uint64_t stream_id = 1;
};

inline absl::StatusOr<SessionWritten> WriteTo(SessionStore& store, uint64_t session_id, uint64_t start_pos,
                                              const Ids& ids, WriteOptions options = {}) {
  return store.Write({.key = {options.client, session_id},
                      .start_pos = start_pos,
                      .seed = std::move(options.seed),
                      .ids = ids,
                      .stream_id = options.stream_id});
}

}  // namespace engram

#endif  // ENGRAM_TESTS_UNIT_SERVER_SESSION_FIXTURE_H_
