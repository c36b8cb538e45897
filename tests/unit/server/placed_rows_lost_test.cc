// Shared memory and clients that cut it, cancel, do not read or go away.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>

#include "server/arena.h"
#include "tests/unit/server/placed_rows.h"

namespace engram {
namespace {

using ::testing::HasSubstr;

TEST_F(PlacedRowsTest, RefusalsThatAreNotReadStopTheReading) {
  uint64_t messages = 0;
  v1::ClientMessage bad;
  bad.mutable_register_segment()->set_name(std::string(300, 'x'));
  while (wire_.reading && messages < 1000) {
    bad.mutable_register_segment()->set_segment_id(static_cast<uint32_t>(++messages));
    Send(*call_, wire_, bad);
  }
  EXPECT_LT(messages, 200u);
  Run();
  EXPECT_TRUE(wire_.reading);
  EXPECT_EQ(call_->answer_bytes(), 0u);
}

TEST_F(PlacedRowsTest, ACutSegmentLosesItsStepAlone) {
  SegmentObject cut(kBytes);
  SegmentObject whole(kBytes);
  ASSERT_EQ(Register(cut.Registration(1)).code(), 0);
  ASSERT_EQ(Register(whole.Registration(2)).code(), 0);
  const std::string wanted = InMessages(Answer(StepOf(1, 200)));
  cut.Resize(32768);
  const Frames lost = Answer(Placed(StepOf(2, 200), 0));
  EXPECT_EQ(lost.back().code(), static_cast<int>(absl::StatusCode::kDataLoss));
  EXPECT_THAT(lost.back().message(), HasSubstr("segment \"" + cut.name() + "\" could not take "));
  EXPECT_EQ(lost.back().token_count(), 0u);
  EXPECT_EQ(lost.back().place_bytes(), 0u);
  const std::string before = InSegment(cut, 0, lost);
  EXPECT_LE(before.size(), 32768u);
  EXPECT_EQ(before, wanted.substr(0, before.size()));
  EXPECT_EQ(InSegment(whole, 64, Answer(Placed(StepOf(3, 200), 64, 2))), wanted);
  const Frames short_step = Answer(Placed(StepOf(4, 20), 0));
  EXPECT_EQ(InSegment(cut, 0, short_step), InMessages(Answer(StepOf(5, 20)))) << "it has room for this one";
}

TEST_F(PlacedRowsTest, ACancelledStepWritesNothingAfterItsLastFrame) {
  SegmentObject object(kBytes);
  ASSERT_EQ(Register(object.Registration(1)).code(), 0);
  Send(*call_, wire_, Placed(StepOf(1, 200), 0));
  Round();  // the first frames of several
  v1::ClientMessage cancel;
  cancel.mutable_cancel()->set_step_id(1);
  Send(*call_, wire_, cancel);
  Run();
  const Frames frames = FramesOf(1);
  EXPECT_EQ(frames.back().code(), static_cast<int>(absl::StatusCode::kCancelled));
  EXPECT_TRUE(frames.back().last());
  object.Fill('#');
  const Frames next = Answer(Placed(StepOf(2, 1), 100000));
  EXPECT_EQ(next.back().code(), 0);
  EXPECT_EQ(object.Read(0, 100000), std::string(100000, '#'));
}

TEST_F(PlacedRowsTest, FramesThatAreNotReadAreBounded) {
  SegmentObject object(kBytes);
  ASSERT_EQ(Register(object.Registration(1)).code(), 0);
  // Of two segments that a refused one keeps apart each has frames of its own.
  v1::ClientMessage step = StepOf(1, 0);
  step.mutable_step()->clear_segments();
  for (int i = 0; i < 25; ++i) {
    step.mutable_step()->add_segments()->add_token_ids(1);
    step.mutable_step()->add_segments()->add_token_ids(4000);
  }
  Send(*call_, wire_, Placed(step, 0));
  for (int i = 0; i < 100; ++i) Round();
  EXPECT_EQ(scheduler_.unsent_bytes(), 0u) << "no rows wait";
  EXPECT_LE(scheduler_.counters().frames, kUnsentBytesMax / 4096 + 2);
  EXPECT_GE(scheduler_.counters().frames, kUnsentBytesMax / 4096);
  Run();
  EXPECT_EQ(scheduler_.unsent_bytes(), 0u);
  EXPECT_EQ(InSegment(object, 0, FramesOf(1)).size(), 25 * kTokenBytes);
}

// A client that hears when its stream has ended. Writes are answered by AnswerWrite.
class EndOfStream final : public StreamTransport {
 public:
  void Read() override {}
  void Write(OutMessage) override { writing = true; }
  void Finish(const absl::Status&) override { ended = true; }
  void AnswerWrite(StreamCall& call) {
    if (writing.exchange(false)) call.OnWritten(true);
  }

  std::atomic<bool> writing{false};
  std::atomic<bool> ended{false};
};

void SendTo(StreamCall& call, EndOfStream& end, const v1::ClientMessage& message) {
  const std::string bytes = message.SerializeAsString();
  call.OnBytes(
      [&bytes] {
        return std::make_unique<google::protobuf::io::ArrayInputStream>(bytes.data(), static_cast<int>(bytes.size()));
      },
      absl::UnixEpoch());
  end.AnswerWrite(call);
}

TEST_F(PlacedRowsTest, AfterTheEndOfTheStreamNothingIsWritten) {
  SegmentObject object(kBytes);
  Arena arena(0);
  const auto account = std::make_shared<ByteAccount>(std::make_shared<Doorbell>());
  for (int i = 0; i < 200; ++i) {
    EndOfStream end;
    const auto call = std::make_shared<StreamCall>(placed_, registry_, end);
    ASSERT_TRUE(registry_.Add(call).ok());
    v1::ClientMessage hello;
    hello.mutable_hello();
    for (const auto& message : {hello, object.Registration(1), Placed(StepOf(1, 900), 0)}) SendTo(*call, end, message);
    object.Fill('#');
    v1::StepReply head;
    head.set_step_id(1);
    ArenaLease lease = arena.Lease(900 * kTokenBytes, account);
    std::fill_n(lease.data(), lease.size(), std::byte{1});
    std::thread delivers([&] { call->Deliver(ReplyFrame{head, std::move(lease), false, false}); });
    while (i % 4 != 0 && *static_cast<volatile char*>(object.data()) == '#') {
    }
    call->OnCancel();
    while (!end.ended) end.AnswerWrite(*call);
    object.Fill('#');
    delivers.join();
    EXPECT_EQ(object.Read(0, kBytes), std::string(kBytes, '#'));
    call->OnDone();
  }
}

}  // namespace
}  // namespace engram
