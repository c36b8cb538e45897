// Steps whose rows go into shared memory: where they lie, and which are refused.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "tests/unit/server/placed_rows.h"

namespace engram {
namespace {

using ::testing::HasSubstr;

TEST_F(PlacedRowsTest, RowsLieWhereTheStepSaysAndAreThoseOfMessages) {
  SegmentObject object(kBytes);
  object.Fill('#');
  EXPECT_EQ(Register(object.Registration(1)).code(), 0);
  uint64_t step_id = 0;
  for (const v1::RowFormat format : {kPacked, v1::ROW_FORMAT_BF16, v1::ROW_FORMAT_HASH_IDS}) {
    for (const int tokens : {1, 200}) {
      const Frames sent = Answer(StepOf(++step_id, tokens, format));
      const Frames placed = Answer(Placed(StepOf(++step_id, tokens, format), 1001));
      const std::string wanted = InMessages(sent);
      EXPECT_GT(wanted.size(), 0u);
      EXPECT_EQ(InSegment(object, 1001, placed), wanted);
      EXPECT_EQ(placed.back().code(), 0);
      EXPECT_EQ(object.Read(0, 1001), std::string(1001, '#')) << "before it";
      EXPECT_EQ(object.Read(1001 + wanted.size(), 8), std::string(8, '#')) << "behind it";
      object.Fill('#');
    }
  }
  EXPECT_EQ(scheduler_.unsent_bytes(), 0u);
}

TEST_F(PlacedRowsTest, ARefusedSegmentHasNoPlace) {
  SegmentObject object(kBytes);
  ASSERT_EQ(Register(object.Registration(1)).code(), 0);
  v1::ClientMessage step = StepOf(1, 3);
  step.mutable_step()->add_segments()->add_token_ids(4000);
  *step.mutable_step()->add_segments() = step.step().segments(0);
  const Frames sent = Answer(step);
  step.mutable_step()->set_step_id(2);
  const Frames placed = Answer(Placed(step, 0));
  EXPECT_EQ(placed.front().results(1).code(), static_cast<int>(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(InSegment(object, 0, placed), InMessages(sent));
  EXPECT_EQ(InMessages(sent).size(), 6 * kTokenBytes);
}

TEST_F(PlacedRowsTest, StepsThatDoNotFitAreRefused) {
  SegmentObject object(kBytes);
  ASSERT_EQ(Register(object.Registration(1)).code(), 0);
  const auto refusal = [this](const v1::ClientMessage& step) {
    const Frames frames = Answer(step);
    EXPECT_EQ(frames.size(), 1u);
    EXPECT_EQ(frames.back().code(), static_cast<int>(absl::StatusCode::kInvalidArgument));
    return frames.back().message();
  };
  EXPECT_THAT(refusal(Placed(StepOf(1, 1), 0, 2)), HasSubstr("place.segment_id = 2: must be a segment registered"));
  EXPECT_THAT(refusal(Placed(StepOf(2, 10), kBytes - 10 * kTokenBytes + 1)),
              HasSubstr("place.offset = 520329: the step's 3960 bytes must end within the segment's 524288"));
  EXPECT_THAT(refusal(Placed(StepOf(3, 1), std::numeric_limits<uint64_t>::max())), HasSubstr("must end within"));
  EXPECT_THAT(refusal(Placed(StepOf(4, 1), kBytes + 1)), HasSubstr("must end within"));
  const Frames fits = Answer(Placed(StepOf(5, 10), kBytes - 10 * kTokenBytes));
  EXPECT_EQ(fits.back().code(), 0);
  EXPECT_EQ(InSegment(object, kBytes - 10 * kTokenBytes, fits).size(), 10 * kTokenBytes);
}

TEST_F(PlacedRowsTest, SegmentsAreRefusedOneByOne) {
  SegmentObject first(kBytes);
  SegmentObject second(kBytes);
  const auto refusal = [this](const v1::ClientMessage& message, absl::StatusCode code) {
    const v1::SegmentReply reply = Register(message);
    EXPECT_EQ(reply.segment_id(), message.register_segment().segment_id());
    EXPECT_EQ(reply.code(), static_cast<int>(code));
    return reply.message();
  };
  EXPECT_THAT(refusal(first.Registration(0), absl::StatusCode::kInvalidArgument), HasSubstr("segment_id = 0"));
  EXPECT_EQ(Register(first.Registration(7)).code(), 0);
  EXPECT_THAT(refusal(second.Registration(7), absl::StatusCode::kInvalidArgument), HasSubstr("registered on this"));
  v1::ClientMessage missing = second.Registration(8);
  missing.mutable_register_segment()->set_name("/engram-test-missing");
  EXPECT_THAT(refusal(missing, absl::StatusCode::kNotFound), HasSubstr("name = \"/engram-test-missing\""));
  EXPECT_EQ(Register(second.Registration(8)).code(), 0) << "the id is free after a refusal";
  EXPECT_THAT(refusal(second.Registration(9), absl::StatusCode::kResourceExhausted),
              HasSubstr("2 are registered on this stream, shared_memory.segments_max is 2"));
  EXPECT_FALSE(wire_.end.has_value()) << "the stream goes on";
}

TEST_F(PlacedRowsTest, WhereItIsNotEnabledSegmentsAreRefused) {
  SegmentObject object(kBytes);
  Wire wire;
  const auto call = std::make_shared<StreamCall>(context_, registry_, wire);
  ASSERT_TRUE(registry_.Add(call).ok());
  SendHello(*call, wire);
  ReadAll(*call, wire);
  Send(*call, wire, object.Registration(1));
  ReadAll(*call, wire);
  EXPECT_EQ(wire.received.back().segment().code(), static_cast<int>(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(wire.received.back().segment().message(), HasSubstr("shared_memory.enabled = false"));
  call->OnCancel();
  call->OnDone();
}

TEST_F(PlacedRowsTest, ASegmentBeforeHelloEndsTheStream) {
  SegmentObject object(kBytes);
  Wire wire;
  const auto call = std::make_shared<StreamCall>(placed_, registry_, wire);
  ASSERT_TRUE(registry_.Add(call).ok());
  Send(*call, wire, object.Registration(1));
  ASSERT_TRUE(wire.end.has_value());
  EXPECT_EQ(*wire.end, absl::InvalidArgumentError("register_segment: the first message of a stream must be hello"));
  call->OnDone();
}

}  // namespace
}  // namespace engram
