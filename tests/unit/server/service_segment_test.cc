// Rows in shared memory over a real socket.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/server/segment_object.h"
#include "tests/unit/server/service_fixture.h"

namespace engram {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint64_t kBytes = 4 << 20;
const std::vector<std::string> kEnabled = {"shared_memory.enabled=true", "shared_memory.name_prefix=/engram-test-"};

v1::ClientMessage PlacedStep(uint64_t step_id, const std::vector<uint32_t>& tokens, uint64_t offset) {
  v1::ClientMessage message;
  message.mutable_step()->set_step_id(step_id);
  v1::Segment& segment = *message.mutable_step()->add_segments();
  segment.mutable_token_ids()->Add(tokens.begin(), tokens.end());
  message.mutable_step()->mutable_place()->set_segment_id(1);
  message.mutable_step()->mutable_place()->set_offset(offset);
  return message;
}

TEST(ServiceSegments, RowsAreWrittenToThePlace) {
  TestServer server(kEnabled);
  server.Serve();
  EXPECT_THAT(server.model().capabilities(), Contains("segment"));
  SegmentObject object(kBytes);
  TestStream stream(server);
  ASSERT_TRUE(stream.Hello());
  EXPECT_TRUE(stream.Next().has_welcome());
  ASSERT_TRUE(stream.Send(object.Registration(1)));
  const v1::SegmentReply reply = stream.Next().segment();
  EXPECT_EQ(reply.segment_id(), 1u);
  ASSERT_EQ(reply.code(), 0) << reply.message();
  shm_unlink(object.name().c_str());

  const std::vector<uint32_t> tokens = SomeTokens(server, 500);
  const std::string wanted = server.ExpectedRows(tokens, v1::ROW_FORMAT_PACKED);
  for (uint64_t step_id = 1; step_id <= 3; ++step_id) {
    object.Fill('#');
    const uint64_t offset = step_id * 1000;
    ASSERT_TRUE(stream.Send(PlacedStep(step_id, tokens, offset)));
    const std::vector<v1::StepReply> frames = stream.FramesOf(step_id);
    ASSERT_EQ(frames.back().code(), 0) << frames.back().message();
    EXPECT_EQ(PayloadOf(frames), "");
    uint64_t placed = 0;
    for (const v1::StepReply& frame : frames) placed += frame.place_bytes();
    EXPECT_EQ(placed, wanted.size());
    EXPECT_EQ(object.Read(offset, wanted.size()), wanted);
  }
  stream.HalfClose();
  EXPECT_TRUE(stream.Finish().ok());
}

TEST(ServiceSegments, AStreamThatBreaksOffHarmsNoOther) {
  TestServer server(kEnabled);
  server.Serve();
  const std::vector<uint32_t> tokens = SomeTokens(server, 500);
  for (int i = 0; i < 20; ++i) {
    SegmentObject object(kBytes);
    TestStream stream(server);
    ASSERT_TRUE(stream.Hello());
    ASSERT_TRUE(stream.Send(object.Registration(1)));
    ASSERT_TRUE(stream.Send(PlacedStep(1, tokens, 0)));
    if (i % 2 == 0) stream.Next();
    if (i % 4 == 0) object.Resize(4096);
    stream.TryCancel();
    EXPECT_EQ(stream.Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  TestStream stream(server);
  ASSERT_TRUE(stream.Hello());
  ASSERT_TRUE(stream.Step(1, tokens));
  EXPECT_EQ(PayloadOf(stream.FramesOf(1)), server.ExpectedRows(tokens, v1::ROW_FORMAT_PACKED));
}

TEST(ServiceSegments, AreOffUnlessTheConfigurationHasThem) {
  TestServer server;
  server.Serve();
  EXPECT_THAT(server.model().capabilities(), Not(Contains("segment")));
  SegmentObject object(kBytes);
  TestStream stream(server);
  ASSERT_TRUE(stream.Hello());
  EXPECT_TRUE(stream.Next().has_welcome());
  ASSERT_TRUE(stream.Send(object.Registration(1)));
  EXPECT_EQ(stream.Next().segment().code(), static_cast<int>(absl::StatusCode::kFailedPrecondition));
}

TEST(ServiceSegments, LookupHasNone) {
  TestServer server(kEnabled);
  server.Serve();
  v1::LookupRequest request;
  *request.mutable_step() = PlacedStep(1, {1, 2, 3}, 0).step();
  grpc::ClientContext context;
  v1::LookupReply reply;
  const grpc::Status status = server.stub().Lookup(&context, request, &reply);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("place.segment_id = 1: must be a segment registered"));
}

}  // namespace
}  // namespace engram
