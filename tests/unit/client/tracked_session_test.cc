// What a tracked session sends, what it keeps, and how far back it reaches.

#include "client/tracked_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace engram {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

v1::HashState StateAt(uint64_t position) {
  v1::HashState state;
  state.set_position(position);
  state.add_compressed_ids(-1);
  return state;
}

// The session's next seed, looked at by an empty segment of a copy.
v1::Segment SeedOf(const TrackedSession& session) {
  TrackedSession copy = session;
  TrackedStep step;
  copy.Append(step, {});
  return step.tracked.at(0).seed;
}

TEST(TrackedSessionTest, SendsTokensAndKeepsTheLookbackBeforeThemToItself) {
  TrackedSession session(7);
  TrackedStep step;
  EXPECT_EQ(session.Append(step, {1, 2, 3, 4}, {1, 1, 0, 1}), 0u);
  EXPECT_EQ(session.Append(step, {5}), 4u);
  EXPECT_EQ(session.position(), 5u);
  EXPECT_EQ(step.request.segments(1).session_id(), 7u);
  EXPECT_EQ(step.request.segments(1).start_pos(), 4u);
  EXPECT_THAT(step.request.segments(1).token_ids(), ElementsAre(5));
  EXPECT_EQ(step.request.segments(1).seed_case(), v1::Segment::SEED_NOT_SET) << "the client adds it where it must";
  ASSERT_EQ(step.tracked.size(), 2u);
  EXPECT_EQ(step.tracked[1].index, 1);
  EXPECT_EQ(step.tracked[1].edit, step.tracked[0].edit + 1);
  EXPECT_THAT(step.tracked[1].seed.lookback().token_ids(), ElementsAre(2, 3, 4));
  EXPECT_EQ(step.tracked[1].seed.lookback().token_mask(), std::string("\1\0\1", 3));
}

TEST(TrackedSessionTest, RewindsToWhatItKeepsAndNoDeeper) {
  TrackedSession session(7, {.tokens_kept = 4, .lookback = 3});
  TrackedStep step;
  for (uint32_t token = 0; token < 20; ++token) session.Append(step, {token});
  ASSERT_GT(session.reach(), 0u);
  ASSERT_LE(session.reach(), 16u + 3u);
  EXPECT_TRUE(session.RewindTo(30).ok());
  EXPECT_EQ(session.position(), 20u);
  const absl::Status deep = session.RewindTo(2);
  EXPECT_EQ(deep.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(deep.message(), HasSubstr("session 7: position 2 is before "));
  EXPECT_THAT(deep.message(), HasSubstr("call Seed()"));
  EXPECT_EQ(session.position(), 20u) << "a refused rewind changes nothing";
  const auto reach = static_cast<uint32_t>(session.reach());
  ASSERT_TRUE(session.RewindTo(reach).ok());
  EXPECT_THAT(SeedOf(session).lookback().token_ids(), ElementsAre(reach - 3, reach - 2, reach - 1));
}

TEST(TrackedSessionTest, TakesBackARefusedSegmentLongerThanWhatItKeeps) {
  TrackedSession session(7, {.tokens_kept = 4, .lookback = 3});
  TrackedStep step;
  session.Append(step, std::vector<uint32_t>(50, 1));
  const uint64_t start = session.Append(step, std::vector<uint32_t>(100, 2));
  EXPECT_TRUE(session.RewindTo(start).ok());
  EXPECT_EQ(session.position(), 50u);
  EXPECT_THAT(SeedOf(session).lookback().token_ids(), ElementsAre(1, 1, 1));
}

TEST(TrackedSessionTest, ReachesBackAsFarAsPromised) {
  TrackedSession session(7, {.tokens_kept = 16, .lookback = 3});
  for (uint64_t position = 1; position < 200; ++position) {
    TrackedStep step;
    session.Append(step, {1});
    ASSERT_LE(session.reach(), position - std::min<uint64_t>(position, 16 + 1)) << "and the last segment";
  }
  TrackedSession endless(8, {.tokens_kept = std::numeric_limits<uint64_t>::max()});
  TrackedStep step;
  endless.Append(step, std::vector<uint32_t>(1000, 1));
  endless.Append(step, {1});
  EXPECT_EQ(endless.reach(), 0u);
}

TEST(TrackedSessionTest, MemoryIsBounded) {
  TrackedSession session(7, {.tokens_kept = 100, .lookback = 3});
  for (int i = 0; i < 1000; ++i) {
    TrackedStep step;
    session.Append(step, {1, 2, 3});
    ASSERT_LE(session.position() - session.reach(), 2u * 103 + 3);
  }
}

TEST(TrackedSessionTest, SeedsByStateUntilItHasTokensOfItsOwn) {
  TrackedSession session(7);
  session.Seed(StateAt(40));
  EXPECT_EQ(SeedOf(session).state().position(), 40u);
  TrackedStep step;
  EXPECT_EQ(session.Append(step, {1, 2}), 40u);
  const v1::Segment replay = SeedOf(session);
  EXPECT_EQ(replay.state().position(), 40u);
  EXPECT_EQ(replay.start_pos(), 40u);
  EXPECT_THAT(replay.token_ids(), ElementsAre(1, 2)) << "two of three tokens: the state, and what follows it";
  EXPECT_EQ(replay.token_mask(), std::string("\1\1"));
  EXPECT_TRUE(session.RewindTo(41).ok());
  EXPECT_EQ(session.reach(), 40u);
  session.Append(step, {2, 3});
  EXPECT_THAT(SeedOf(session).lookback().token_ids(), ElementsAre(1, 2, 3));
  EXPECT_TRUE(session.RewindTo(40).ok());
  EXPECT_TRUE(SeedOf(session).has_state());
  EXPECT_EQ(session.RewindTo(39).code(), absl::StatusCode::kFailedPrecondition);
}

TEST(TrackedSessionTest, SeedsByLookback) {
  TrackedSession session(7);
  EXPECT_EQ(session.Seed(9, {1, 2}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(session.Seed(3, {1, 2, 3, 4}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(session.Seed(9, {1, 2, 3}, {1}).code(), absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE(session.Seed(9, {1, 2, 3}, {1, 0, 1}).ok());
  EXPECT_EQ(session.position(), 9u);
  EXPECT_EQ(session.reach(), 9u);
  EXPECT_EQ(SeedOf(session).lookback().token_mask(), std::string("\1\0\1", 3));
  ASSERT_TRUE(session.Seed(1, {5}).ok());
  EXPECT_EQ(session.reach(), 0u);
}

TEST(TrackedSessionTest, ForksByItself) {
  TrackedSession session(7);
  TrackedStep step;
  session.Append(step, {1, 2, 3, 4, 5}, {1, 1, 0, 1, 1});
  absl::StatusOr<TrackedSession> fork = session.Fork(8, 4);
  ASSERT_TRUE(fork.ok()) << fork.status();
  EXPECT_EQ(fork->position(), 4u);
  EXPECT_EQ(fork->Append(step, {9}), 4u);
  EXPECT_EQ(step.request.segments(1).session_id(), 8u);
  EXPECT_THAT(step.tracked[1].seed.lookback().token_ids(), ElementsAre(2, 3, 4));
  EXPECT_NE(step.tracked[1].view, step.tracked[0].view);
  EXPECT_EQ(session.Fork(9, 6).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(TrackedSessionTest, StartsAnewOnceClosed) {
  TrackedSession session(7);
  TrackedStep step;
  session.Append(step, {1, 2, 3, 4, 5});
  session.Close(step);
  EXPECT_THAT(step.request.close_sessions(), ElementsAre(7));
  EXPECT_EQ(session.position(), 0u);
}

TEST(ServerViewTest, IsSureOnlyOfTheLastThingSentAndAccepted) {
  ServerView view;
  EXPECT_FALSE(view.Knows(1, 0, 0));
  view.NoteSent(1, 10);
  EXPECT_FALSE(view.Knows(1, 5, 100)) << "still due";
  view.NoteAccepted(1, 10, 5, true, 97);
  EXPECT_TRUE(view.Knows(1, 5, 97));
  EXPECT_FALSE(view.Knows(1, 5, 96)) << "the server's history begins behind that";
  EXPECT_FALSE(view.Knows(2, 5, 97)) << "another connection";
  EXPECT_FALSE(view.Knows(1, 6, 97)) << "an edit it has not seen";
  view.NoteSent(1, 11);
  view.NoteSent(1, 12);
  view.NoteAccepted(1, 11, 6, false, 0);
  EXPECT_FALSE(view.Knows(1, 6, 97)) << "a later one is due";
  view.NoteAccepted(1, 12, 7, false, 0);
  EXPECT_TRUE(view.Knows(1, 7, 97)) << "without a seed the history begins where it began";
}

}  // namespace
}  // namespace engram
