#include "client/client_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace engram {
namespace {

using testing::ElementsAre;

TEST(ClientSessionTest, AppendsOneChunkAfterAnother) {
  ClientSession session(7);
  v1::StepRequest step;
  EXPECT_EQ(session.Append(step, {1, 2, 3}), 0u);
  EXPECT_EQ(session.Append(step, {4}, {0}), 3u);
  EXPECT_EQ(session.position(), 4u);
  EXPECT_EQ(step.segments(0).session_id(), 7u);
  EXPECT_THAT(step.segments(0).token_ids(), ElementsAre(1, 2, 3));
  EXPECT_EQ(step.segments(0).token_mask(), "");
  EXPECT_EQ(step.segments(1).start_pos(), 3u);
  EXPECT_EQ(step.segments(1).token_mask(), std::string(1, '\0'));
}

TEST(ClientSessionTest, RewindsButNeverForward) {
  ClientSession session(7);
  v1::StepRequest step;
  session.Append(step, {1, 2, 3});
  session.RewindTo(9);
  EXPECT_EQ(session.position(), 3u);
  session.RewindTo(1);
  EXPECT_EQ(session.Append(step, {8, 9}), 1u);
  session.Refused(1);
  EXPECT_EQ(session.position(), 1u);
}

TEST(ClientSessionTest, SeedsTheNextSegmentOnly) {
  ClientSession session(7);
  v1::StepRequest step;
  v1::HashState state;
  state.set_position(40);
  state.add_compressed_ids(-1);
  session.Seed(state);
  EXPECT_EQ(session.Append(step, {1}), 40u);
  EXPECT_EQ(session.Append(step, {2}), 41u);
  EXPECT_EQ(step.segments(0).state().compressed_ids(0), -1);
  EXPECT_EQ(step.segments(1).seed_case(), v1::Segment::SEED_NOT_SET);
  session.Seed(5, {10, 11}, {1, 0});
  EXPECT_EQ(session.Append(step, {}), 5u);
  EXPECT_THAT(step.segments(2).lookback().token_ids(), ElementsAre(10, 11));
  EXPECT_EQ(step.segments(2).lookback().token_mask(), std::string("\1\0", 2));
}

}  // namespace
}  // namespace engram
