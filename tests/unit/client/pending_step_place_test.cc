// Frames whose rows lie in shared memory, and what a server may not say of them. K = 2 columns of 33 bytes, two layers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/client/placed_step.h"

namespace engram {
namespace {

using ::testing::HasSubstr;

TEST(PendingStepPlace, RowsStayWhereTheyAreUntilTheResultGoes) {
  PlacedStep step(2, 3);
  ASSERT_TRUE(step.Results({0, 0}).ok());
  ASSERT_TRUE(step.Rows(1, 0, 4, 4 * kTokenBytes).ok());
  ASSERT_TRUE(step.Rows(1, 4, 5, kTokenBytes).ok());
  ASSERT_TRUE(step.Rows(14, 0, 5, 5 * kTokenBytes).ok());
  const uint8_t* const place = step.place();
  {
    StepResult result = step.End();
    EXPECT_TRUE(result.through_shared_memory);
    ASSERT_TRUE(result.status.ok());
    EXPECT_EQ(result.layers[0].bytes().data(), place);
    EXPECT_EQ(result.layers[1].bytes().data(), place + 5 * kTokenBytes);
    EXPECT_TRUE(result.layers[0].in_shared_memory());
    EXPECT_EQ(result.layer(1)->row(4, 1)[32], 4);
    step.LetGo();
    const uint64_t free = step.segment().free_bytes();
    result.layers.erase(result.layers.begin());
    EXPECT_EQ(step.segment().free_bytes(), free) << "one layer holds the place";
    ASSERT_TRUE(result.layers[0].LeaveSharedMemory().ok());
    EXPECT_FALSE(result.layers[0].in_shared_memory());
    EXPECT_EQ(result.layers[0].bytes().size(), 5 * kTokenBytes);
    EXPECT_EQ(step.segment().free_bytes(), 8192u - 128) << "copied: no one does";
  }
}

TEST(PendingStepPlace, AroundARefusedSegmentRowsAreCopied) {
  PlacedStep step(2, 3);
  ASSERT_TRUE(step.Results({0, 3}).ok());
  ASSERT_TRUE(step.Rows(1, 0, 2, 2 * kTokenBytes).ok());
  ASSERT_TRUE(step.Rows(14, 0, 2, 2 * kTokenBytes).ok());
  StepResult result = step.End();
  EXPECT_TRUE(result.through_shared_memory);
  EXPECT_FALSE(result.layers[0].in_shared_memory());
  EXPECT_EQ(result.layer(14)->row(1, 1)[0], 0);
  EXPECT_EQ(result.layer(14)->row(2, 0)[0], 0xFF);
  step.LetGo();
  EXPECT_EQ(step.segment().free_bytes(), 8192u - 128);
}

TEST(PendingStepPlace, AroundMaskedTokensRowsAreCopied) {
  PlacedStep step(3, 0, std::string("\1\0\1", 3));
  ASSERT_TRUE(step.Results({0, 0}).ok());
  ASSERT_TRUE(step.Rows(1, 0, 3, 2 * kTokenBytes).ok());
  ASSERT_TRUE(step.Rows(14, 0, 3, 2 * kTokenBytes).ok());
  const StepResult result = step.End();
  EXPECT_EQ(result.layer(1)->row(1, 0)[0], 0xFF);
  EXPECT_EQ(result.layer(1)->row(2, 0)[0], 0);
}

TEST(PendingStepPlace, AFailedStepLetsGoOfItsPlace) {
  PlacedStep step(2);
  ASSERT_TRUE(step.Results({0, 0}).ok());
  ASSERT_TRUE(step.Rows(1, 0, 2, 2 * kTokenBytes).ok());
  v1::StepReply last;
  last.set_last(true);
  last.set_code(15);
  last.set_message("segment lost");
  ASSERT_TRUE(step.Apply(last).ok());
  step.LetGo();
  EXPECT_EQ(step.segment().free_bytes(), 8192u - 128);
}

#define EXPECT_WRONG(status, part)                              \
  do {                                                          \
    const absl::Status wrong = (status);                        \
    EXPECT_EQ(wrong.code(), absl::StatusCode::kInternal);       \
    EXPECT_THAT(std::string(wrong.message()), HasSubstr(part)); \
  } while (false)

PlacedStep& Begun(PlacedStep& step) {
  EXPECT_TRUE(step.Results({0, 0}).ok());
  return step;
}

TEST(PendingStepPlace, PlacesAreTheOnesAskedFor) {
  PlacedStep elsewhere(4);
  EXPECT_WRONG(Begun(elsewhere).Rows(1, 0, 2, 2 * kTokenBytes, 1), "132 bytes placed at 129: the place has 528 left");
  PlacedStep longer(4);
  EXPECT_WRONG(Begun(longer).Rows(1, 0, 4, 9 * kTokenBytes), "594 bytes placed at 128: the place has 528 left at 128");
  PlacedStep shorter(4);
  EXPECT_WRONG(Begun(shorter).Rows(1, 0, 4, 3 * kTokenBytes), "198 bytes placed at 128 for 4 tokens of layer 1");
  PlacedStep skipping(4);
  ASSERT_TRUE(Begun(skipping).Rows(1, 0, 2, 2 * kTokenBytes).ok());
  EXPECT_WRONG(skipping.Rows(1, 3, 4, kTokenBytes), "no rows of the accepted segment");
  PlacedStep mixing(4);
  ASSERT_TRUE(Begun(mixing).Rows(1, 0, 2, 2 * kTokenBytes).ok());
  ASSERT_TRUE(mixing.Rows(14, 0, 2, 2 * kTokenBytes).ok());
  EXPECT_WRONG(mixing.Rows(1, 2, 4, 2 * kTokenBytes), "do not lie behind each other");
}

TEST(PendingStepPlace, ALayerIsCopiedWhereResultsComeLate) {
  PlacedStep step(4);
  v1::StepReply result;
  result.add_results();
  ASSERT_TRUE(step.Apply(result).ok());
  ASSERT_TRUE(step.Rows(1, 0, 4, 4 * kTokenBytes).ok());
  ASSERT_TRUE(step.Apply(result).ok());
  ASSERT_TRUE(step.Rows(14, 0, 4, 4 * kTokenBytes).ok());
  EXPECT_WRONG(step.Rows(14, 4, 4, kTokenBytes), "placed at 656: the place has 0 left");
}

TEST(PendingStepPlace, RowsAreInOneWayOnly) {
  PlacedStep step(4);
  v1::StepReply frame;
  frame.set_layer(1);
  frame.set_token_count(4);
  EXPECT_WRONG(Begun(step).Apply(frame, 4 * kTokenBytes), "rows in the message, and not in their place");
  frame.add_hash_ids(1);
  EXPECT_WRONG(step.Apply(frame), "rows in the message, and not in their place");
  v1::StepReply untold;
  untold.set_place_offset(step.offset());
  untold.set_place_bytes(8);
  EXPECT_WRONG(step.Apply(untold), "rows without tokens");

  v1::StepRequest request;
  request.add_segments()->add_token_ids(1);
  PendingStep plain(3, ShapeOf(request, Small()));
  const auto nothing = [](uint8_t*, uint64_t) { return false; };
  EXPECT_WRONG(plain.Apply(untold, {0, nothing}), "rows in shared memory, which it has no place in");
}

}  // namespace
}  // namespace engram
