// What one client may have of the store: past it only its own sessions give way.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "server/history.h"
#include "tests/unit/server/session_rules.h"

namespace engram {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kOneChunk = 512 + History::kChunkBytes + 2 * History::kReferenceBytes;  // a session of one chunk
constexpr absl::StatusCode kExhausted = absl::StatusCode::kResourceExhausted;

void ExpectRefused(const absl::Status& status, absl::StatusCode code, const std::string& message) {
  EXPECT_EQ(status.code(), code) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(message));
}

TEST(SessionShare, IsAPercentageAndNeverNothing) {
  EXPECT_EQ((SessionLimits{.client_share_percent = 50}.ClientShareOf(65536)), 32768u);
  EXPECT_EQ((SessionLimits{.client_share_percent = 33}.ClientShareOf(10)), 3u);
  EXPECT_EQ((SessionLimits{.client_share_percent = 1}.ClientShareOf(5)), 1u);
  EXPECT_EQ((SessionLimits{.client_share_percent = 100}.ClientShareOf(~uint64_t{0})), ~uint64_t{0});
}

TEST(SessionShare, AClientThatPinsItsSessionsCostsNobodyElseOne) {
  SessionStore store({.sessions_max = 4, .client_share_percent = 50}, kLookback);
  EXPECT_TRUE(WriteTo(store, 1, 0, {1}, {.client = "good"}).ok());
  std::vector<absl::StatusOr<SessionWritten>> pinned;
  for (uint64_t id : {1, 2}) pinned.push_back(WriteTo(store, id, 0, {1}, {.client = "deaf"}));
  ASSERT_TRUE(pinned[0].ok() && pinned[1].ok());
  ExpectRefused(WriteTo(store, 3, 0, {1}, {.client = "deaf"}).status(), kExhausted,
                "a new session: a client may have 2 (50 % of sessions_max), and all of its own have steps in flight");
  EXPECT_TRUE(WriteTo(store, 1, 1, {2}, {.client = "good"}).ok());
  EXPECT_TRUE(WriteTo(store, 2, 0, {2}, {.client = "good"}).ok());
  EXPECT_EQ(store.sessions(), 4u);
}

TEST(SessionShare, ItsOwnLeastRecentlyUsedSessionGoes) {
  SessionStore store({.sessions_max = 4, .client_share_percent = 50}, kLookback);
  EXPECT_TRUE(WriteTo(store, 1, 0, {1}, {.client = "good"}).ok());  // the least recently used of all
  for (uint64_t id : {1, 2, 3}) EXPECT_TRUE(WriteTo(store, id, 0, {1}, {.client = "busy"}).ok());
  EXPECT_EQ(store.sessions(), 3u);
  ExpectRefused(WriteTo(store, 1, 1, {2}, {.client = "busy"}).status(), absl::StatusCode::kFailedPrecondition,
                "session 1 is unknown");
  EXPECT_TRUE(WriteTo(store, 1, 1, {2}, {.client = "good"}).ok());
}

TEST(SessionShare, AShareOfOneSessionGivesWayToItsSuccessor) {
  SessionStore store({.sessions_max = 2, .client_share_percent = 50}, kLookback);
  for (uint64_t id = 1; id < 10; ++id) EXPECT_TRUE(WriteTo(store, id, 0, {1}).ok());
  EXPECT_EQ(store.sessions(), 1u);
  EXPECT_EQ(store.history_bytes(), kOneChunk);
}

TEST(SessionShare, HistoryIsSharedOutToo) {
  SessionStore store({.history_bytes_max = 4 * kOneChunk, .client_share_percent = 50}, kLookback);
  EXPECT_TRUE(WriteTo(store, 1, 0, {1}, {.client = "good"}).ok());
  auto one = WriteTo(store, 1, 0, {1}, {.client = "deaf"});
  auto two = WriteTo(store, 2, 0, {1}, {.client = "deaf"});
  ASSERT_TRUE(one.ok() && two.ok());
  ExpectRefused(WriteTo(store, 3, 0, {1}, {.client = "deaf"}).status(), kExhausted,
                "the segment needs " + std::to_string(kOneChunk) + " more bytes of history: a client may hold " +
                    std::to_string(2 * kOneChunk) + " (50 % of history_bytes_max), of which " +
                    std::to_string(2 * kOneChunk) + " are held by its sessions with steps in flight");
  EXPECT_TRUE(WriteTo(store, 1, 1, {1}, {.client = "good"}).ok());
  two->use = SessionUse();
  EXPECT_TRUE(WriteTo(store, 3, 0, {1}, {.client = "deaf"}).ok());  // its own 2 gave way
  EXPECT_TRUE(WriteTo(store, 1, 2, {1}, {.client = "good"}).ok());
  EXPECT_EQ(store.history_bytes(), 3 * kOneChunk);
}

TEST(SessionShare, ALongSessionGivesUpItsOwnOldestPositionsFirst) {
  SessionStore store({.history_bytes_max = 16 * kOneChunk, .client_share_percent = 25}, kLookback);
  EXPECT_TRUE(WriteTo(store, 1, 0, IdsFrom(0, 1024), {.client = "good"}).ok());
  for (int32_t at = 0; at < 5000; at += 50) {
    ASSERT_TRUE(WriteTo(store, 1, static_cast<uint64_t>(at), IdsFrom(at, 50), {.client = "long"}).ok()) << at;
  }
  EXPECT_TRUE(WriteTo(store, 1, 10, {1}, {.client = "good"}).ok()) << "nothing of it was trimmed";
}

// Clients fork each other, run out and pin: no bound is passed by more than the forks of another's positions allow,
// and all that was counted is given back.
TEST(SessionShare, RandomClientsGiveBackWhatTheyTook) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    SessionStore store({.history_bytes_max = 20 * kOneChunk, .sessions_max = 12, .client_share_percent = 40},
                       kLookback);
    std::vector<SessionUse> uses;
    int refused = 0;
    for (int i = 0; i < 20000; ++i) {
      WriteOptions options{.client = std::string(1, static_cast<char>('a' + random() % 4))};
      options.stream_id = static_cast<uint64_t>(options.client[0]);
      const uint64_t position = random() % 3 * 300;
      if (random() % 3 == 0) {
        options.seed = SeedFork(1 + random() % 4, std::string(1, static_cast<char>('a' + random() % 4)));
      } else if (position > 0) {
        options.seed = SeedIds(IdsFrom(0, 3));
      }
      auto written = WriteTo(store, 1 + random() % 8, position, IdsFrom(0, random() % 600), std::move(options));
      refused += written.status().code() == kExhausted ? 1 : 0;
      if (written.ok() && random() % 2 == 0) uses.push_back(std::move(written->use));
      if (uses.size() > 20 || random() % 32 == 0) uses.clear();
      ASSERT_LE(store.sessions(), 12u);
      ASSERT_LE(store.history_bytes(), 20 * kOneChunk);
    }
    EXPECT_GT(refused, 100);
    uses.clear();
    for (const char* client : {"a", "b", "c", "d"}) store.ForgetClient(client);
    EXPECT_EQ(store.sessions(), 0u);
    EXPECT_EQ(store.history_bytes(), 0u);
  }
}

}  // namespace
}  // namespace engram
