// The rules of sessions, each by a literal example.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

#include "server/session_store.h"
#include "tests/unit/server/session_rules.h"

namespace engram {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_F(SessionRules, LookbackReachesAcrossWrites) {
  const SessionWritten first = Do(7, 0, {10, 11});
  EXPECT_THAT(first.lookback, IsEmpty());
  EXPECT_THAT(first.tail, ElementsAre(10, 11));
  EXPECT_EQ(first.length, 2u);
  const SessionWritten second = Do(7, 2, {-1, 13, 14});
  EXPECT_THAT(second.lookback, ElementsAre(10, 11));
  EXPECT_THAT(second.tail, ElementsAre(-1, 13, 14));
  EXPECT_EQ(second.length, 5u);
  EXPECT_THAT(Do(7, 5, {15}).lookback, ElementsAre(-1, 13, 14));
}

TEST_F(SessionRules, WritingBelowTheLengthOverwritesFromThere) {
  Do(7, 0, IdsFrom(0, 10));
  const SessionWritten written = Do(7, 4, {90});
  EXPECT_THAT(written.lookback, ElementsAre(1, 2, 3));
  EXPECT_THAT(written.tail, ElementsAre(2, 3, 90));
  EXPECT_EQ(written.length, 5u);
  Refused(WriteTo(store_, 7, 6, {1}), kPrecondition,
          "start_pos = 6: beyond the length 5 of session 7 (known history [0, 5))");
  EXPECT_THAT(Do(7, 5, {}).lookback, ElementsAre(2, 3, 90));
}

TEST_F(SessionRules, NoTokensIsAPureRollback) {
  Do(7, 0, IdsFrom(0, 600));
  const SessionWritten written = Do(7, 257, {});
  EXPECT_EQ(written.length, 257u);
  EXPECT_THAT(written.tail, ElementsAre(254, 255, 256));
  Refused(WriteTo(store_, 7, 258, {1}), kPrecondition, "known history [0, 257)");
  EXPECT_EQ(Do(7, 0, {}).length, 0u);
  EXPECT_EQ(store_.sessions(), 1u);
}

TEST_F(SessionRules, AnUnknownSessionHasLengthZero) {
  Refused(WriteTo(store_, 7, 1, {1}), kPrecondition, "start_pos = 1: session 7 is unknown");
  Refused(WriteTo(store_, 7, 1, {}), kPrecondition, "has length 0: give a seed");
  EXPECT_EQ(store_.sessions(), 0u);
}

TEST_F(SessionRules, NameSpacesKeepClientsApart) {
  Do(7, 0, {1, 2, 3});
  Refused(WriteTo(store_, 7, 3, {4}, {.client = "b"}), kPrecondition, "session 7 is unknown");
  Do(7, 0, {4}, {.client = "b"});
  EXPECT_THAT(Do(7, 3, {}).lookback, ElementsAre(1, 2, 3));
}

TEST_F(SessionRules, OneStreamAtATimeWritesASession) {
  auto in_flight = WriteTo(store_, 7, 0, {1, 2, 3}, {.stream_id = 1});
  auto second = WriteTo(store_, 7, 3, {4}, {.stream_id = 1});
  ASSERT_TRUE(in_flight.ok() && second.ok());
  Refused(WriteTo(store_, 7, 4, {5}, {.stream_id = 2}), absl::StatusCode::kAborted,
          "session 7 has 2 step(s) in flight on another stream");
  in_flight->use = SessionUse();
  EXPECT_EQ(store_.Close({"a", 7}, 2).code(), absl::StatusCode::kAborted);
  Do(0, 4, {}, {.seed = SeedFork(7), .stream_id = 2});  // reading is no writing
  second->use = SessionUse();
  EXPECT_THAT(Do(7, 4, {5}, {.stream_id = 2}).lookback, ElementsAre(2, 3, 4));
}

TEST_F(SessionRules, CloseForgets) {
  auto in_flight = WriteTo(store_, 7, 0, IdsFrom(0, 600));
  ASSERT_TRUE(in_flight.ok());
  EXPECT_TRUE(store_.Close({"a", 7}, 1).ok());
  EXPECT_TRUE(store_.Close({"a", 7}, 1).ok());  // unknown by now
  EXPECT_EQ(store_.history_bytes(), 0u);
  Refused(WriteTo(store_, 7, 3, {4}), kPrecondition, "session 7 is unknown");
  Do(7, 0, {1}, {.stream_id = 2});  // a new session: the old one's step does not count on it
  in_flight->use = SessionUse();
  EXPECT_EQ(Do(7, 1, {2}, {.stream_id = 3}).length, 2u);
}

TEST_F(SessionRules, PrivateNameSpacesEndWithTheirStream) {
  const std::string one = store_.PrivateClient();
  const std::string two = store_.PrivateClient();
  EXPECT_NE(one, two);
  EXPECT_EQ(one.substr(0, 1), kPrivateClientPrefix);
  Do(7, 0, IdsFrom(0, 300), {.client = one});
  Do(8, 0, {1}, {.client = one});
  Do(7, 0, {2}, {.client = two});
  store_.ForgetClient(one);
  store_.ForgetClient("never seen");
  EXPECT_EQ(store_.sessions(), 1u);
  Refused(WriteTo(store_, 7, 1, {1}, {.client = one}), kPrecondition, "unknown");
  store_.ForgetClient(two);
  EXPECT_EQ(store_.history_bytes(), 0u);
}

}  // namespace
}  // namespace engram
