// What gives way when the store is full, and that every byte is counted.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "server/history.h"
#include "server/session_store.h"
#include "tests/unit/server/session_fixture.h"

namespace engram {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint64_t kSession = 512;  // a session without history
constexpr uint64_t kChunk = History::kChunkBytes;
constexpr uint64_t kReference = History::kReferenceBytes;

// What a session of `chunks` chunks counts for; references come in powers of two from two on.
uint64_t Cost(uint64_t chunks, uint64_t references) { return kSession + chunks * kChunk + references * kReference; }

void ExpectRefused(const absl::Status& status, absl::StatusCode code, const std::string& message) {
  EXPECT_EQ(status.code(), code) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(message));
}

TEST(SessionBudget, CountsChunksReferencesAndSessions) {
  SessionStore store(SessionLimits{}, kLookback);
  EXPECT_TRUE(WriteTo(store, 1, 0, IdsFrom(0, 256)).ok());
  EXPECT_EQ(store.history_bytes(), Cost(1, 2));
  EXPECT_TRUE(WriteTo(store, 1, 256, IdsFrom(0, 513)).ok());  // 769 positions
  EXPECT_EQ(store.history_bytes(), Cost(4, 4));
  EXPECT_TRUE(WriteTo(store, 2, 769, {}, {.seed = SeedFork(1)}).ok());  // shares all four
  EXPECT_EQ(store.history_bytes(), Cost(4, 4) + Cost(0, 4));
  EXPECT_TRUE(WriteTo(store, 2, 769, {5}).ok());  // and copies the one it writes
  EXPECT_EQ(store.history_bytes(), Cost(4, 4) + Cost(1, 4));
  EXPECT_TRUE(WriteTo(store, 1, 10, {}).ok());  // three chunks are the fork's alone now
  EXPECT_EQ(store.history_bytes(), Cost(1, 2) + Cost(3, 4));
  EXPECT_TRUE(store.Close({"a", 1}, 1).ok());
  EXPECT_EQ(store.history_bytes(), Cost(4, 4));
  EXPECT_TRUE(store.Close({"a", 2}, 1).ok());
  EXPECT_EQ(store.history_bytes(), 0u);
}

TEST(SessionBudget, TokensMaxBoundsASession) {
  SessionStore store({.tokens_max = 10}, kLookback);
  EXPECT_TRUE(WriteTo(store, 1, 0, IdsFrom(0, 10)).ok());
  ExpectRefused(WriteTo(store, 1, 10, {1}).status(), absl::StatusCode::kResourceExhausted,
                "start_pos + tokens = 11: a session holds at most 10 positions (session_tokens_max)");
  ExpectRefused(WriteTo(store, 2, 20, {}, {.seed = SeedIds({1, 2, 3})}).status(), absl::StatusCode::kResourceExhausted,
                "at most 10 positions");
  EXPECT_TRUE(WriteTo(store, 1, 9, {1}).ok());
}

TEST(SessionBudget, SessionsMaxEvictsTheLeastRecentlyUsed) {
  SessionStore store({.sessions_max = 2}, kLookback);
  EXPECT_TRUE(WriteTo(store, 1, 0, {1}).ok());
  EXPECT_TRUE(WriteTo(store, 2, 0, {2}).ok());
  EXPECT_TRUE(WriteTo(store, 1, 1, {1}).ok());
  EXPECT_TRUE(WriteTo(store, 3, 0, {3}).ok());  // 2 goes
  EXPECT_EQ(store.sessions(), 2u);
  ExpectRefused(WriteTo(store, 2, 1, {2}).status(), absl::StatusCode::kFailedPrecondition,
                "start_pos = 1: session 2 is unknown (never written, closed, or evicted)");
  const auto one = WriteTo(store, 1, 2, {1});
  const auto three = WriteTo(store, 3, 1, {3});
  ASSERT_TRUE(one.ok() && three.ok());
  ExpectRefused(WriteTo(store, 4, 0, {4}).status(), absl::StatusCode::kResourceExhausted,
                "sessions_max 2 sessions are open and all have steps in flight");
}

TEST(SessionBudget, OldestPositionsOfIdleSessionsGoFirst) {
  SessionStore store({.history_bytes_max = Cost(4, 4) + Cost(4, 4) + Cost(1, 2)}, kLookback);
  EXPECT_TRUE(WriteTo(store, 1, 0, IdsFrom(0, 1024)).ok());
  EXPECT_TRUE(WriteTo(store, 2, 0, IdsFrom(0, 1024)).ok());
  EXPECT_TRUE(WriteTo(store, 3, 0, IdsFrom(0, 256)).ok());  // full to the byte
  EXPECT_TRUE(WriteTo(store, 4, 0, {1}).ok());
  EXPECT_EQ(store.sessions(), 4u);
  ExpectRefused(WriteTo(store, 1, 768, {}).status(), absl::StatusCode::kFailedPrecondition,
                "start_pos = 768: look-back needs position 765, before the known history [768, 1024) of session 1");
  const auto decode = WriteTo(store, 1, 1024, {5});  // its end is still there
  ASSERT_TRUE(decode.ok()) << decode.status();
  EXPECT_THAT(decode->lookback, ElementsAre(1021, 1022, 1023));
  EXPECT_TRUE(WriteTo(store, 2, 700, {}).ok());  // more recently used: whole
}

TEST(SessionBudget, TrimmingLeavesRoomForRejectedDrafts) {
  SessionStore store({.history_bytes_max = Cost(4, 4) + Cost(1, 2)}, kLookback);
  EXPECT_TRUE(WriteTo(store, 1, 0, IdsFrom(0, 770)).ok());
  EXPECT_TRUE(WriteTo(store, 2, 0, {1}).ok());
  EXPECT_TRUE(WriteTo(store, 3, 0, {1}).ok());
  const auto rewound = WriteTo(store, 1, 770 - 64, {5});
  ASSERT_TRUE(rewound.ok()) << rewound.status();
  EXPECT_THAT(rewound->lookback, ElementsAre(703, 704, 705));
}

TEST(SessionBudget, ThenLeastRecentlyUsedSessionsGo) {
  SessionStore store({.history_bytes_max = 3 * Cost(1, 2)}, kLookback);
  for (uint64_t id : {1, 2, 3}) EXPECT_TRUE(WriteTo(store, id, 0, {7}).ok());
  EXPECT_TRUE(WriteTo(store, 0, 1, {}, {.seed = SeedFork(1)}).ok());  // reading is using
  EXPECT_TRUE(WriteTo(store, 4, 0, {7}).ok());
  EXPECT_EQ(store.history_bytes(), 3 * Cost(1, 2));
  ExpectRefused(WriteTo(store, 2, 1, {7}).status(), absl::StatusCode::kFailedPrecondition, "evicted");
  EXPECT_TRUE(WriteTo(store, 1, 1, {7}).ok());
}

TEST(SessionBudget, SessionsInFlightStay) {
  SessionStore store({.history_bytes_max = 2 * Cost(1, 2)}, kLookback);
  auto one = WriteTo(store, 1, 0, {7});
  auto two = WriteTo(store, 2, 0, {7});
  ASSERT_TRUE(one.ok() && two.ok());
  ExpectRefused(WriteTo(store, 3, 0, {7}).status(), absl::StatusCode::kResourceExhausted,
                "history_bytes_max is " + std::to_string(2 * Cost(1, 2)));
  EXPECT_EQ(store.sessions(), 2u);
  two->use = SessionUse();
  EXPECT_TRUE(WriteTo(store, 3, 0, {7}).ok());
  EXPECT_TRUE(WriteTo(store, 1, 1, {7}).ok());
}

TEST(SessionBudget, ALongSessionGivesUpItsOwnOldestPositionsLast) {
  const uint64_t max = Cost(4, 4);
  SessionStore store({.history_bytes_max = max}, kLookback);
  std::vector<SessionUse> uses;  // in flight all the time, as a pipelined decode is
  for (int32_t position = 0; position < 5000; ++position) {
    auto written = WriteTo(store, 1, static_cast<uint64_t>(position), {position});
    ASSERT_TRUE(written.ok()) << written.status();
    ASSERT_LE(store.history_bytes(), max);
    const int32_t known = std::min(position, 3);
    ASSERT_EQ(written->lookback, IdsFrom(position - known, static_cast<size_t>(known)));
    uses.push_back(std::move(written->use));
  }
  ExpectRefused(WriteTo(store, 1, 3000, {1}).status(), absl::StatusCode::kFailedPrecondition, "known history [");
}

TEST(SessionBudget, AnImpossibleWriteCostsNobodyAnything) {
  SessionStore store({.history_bytes_max = 4 * Cost(1, 2)}, kLookback);
  EXPECT_TRUE(WriteTo(store, 1, 0, IdsFrom(0, 700)).ok());
  ExpectRefused(WriteTo(store, 2, 0, IdsFrom(0, 65536)).status(), absl::StatusCode::kResourceExhausted,
                "bytes of history: history_bytes_max is");
  EXPECT_TRUE(WriteTo(store, 1, 3, {}).ok());
}

TEST(SessionBudget, ARefusedWriteEvictsNobody) {
  SessionStore store({.history_bytes_max = Cost(3, 4) + Cost(1, 2) + Cost(0, 4), .sessions_max = 3}, kLookback);
  auto in_flight = WriteTo(store, 1, 0, IdsFrom(0, 768));
  ASSERT_TRUE(in_flight.ok());
  EXPECT_TRUE(WriteTo(store, 2, 0, IdsFrom(0, 200)).ok());
  EXPECT_TRUE(WriteTo(store, 3, 768, {}, {.seed = SeedFork(1)}).ok());  // frees its references only: the chunks stay
  const uint64_t before = store.history_bytes();
  ExpectRefused(WriteTo(store, 4, 0, IdsFrom(0, 512)).status(), absl::StatusCode::kResourceExhausted,
                "of which " + std::to_string(Cost(3, 4)) + " are held by sessions with steps in flight");
  EXPECT_EQ(store.history_bytes(), before);
  EXPECT_EQ(store.sessions(), 3u);
  EXPECT_EQ(WriteTo(store, 2, 200, {7})->lookback, IdsFrom(197, 3));
  EXPECT_EQ(WriteTo(store, 3, 768, {})->lookback, IdsFrom(765, 3));
  EXPECT_TRUE(WriteTo(store, 4, 0, {7}).ok());
}

}  // namespace
}  // namespace engram
