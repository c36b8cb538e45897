// A stream without gRPC whose client shares memory. A token has 2 layers of 6 packed rows of 33 bytes; frames in
// messages hold 81 tokens.

#ifndef ENGRAM_TESTS_UNIT_SERVER_PLACED_ROWS_H_
#define ENGRAM_TESTS_UNIT_SERVER_PLACED_ROWS_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/unit/server/segment_object.h"
#include "tests/unit/server/stream_bounds.h"

namespace engram {

inline constexpr uint64_t kBytes = 1 << 19;
inline constexpr uint64_t kTokenBytes = 2 * 6 * 33;
inline constexpr auto kPacked = v1::ROW_FORMAT_PACKED;

using Frames = std::vector<v1::StepReply>;

class PlacedRowsTest : public StreamBounds {
 protected:
  PlacedRowsTest() {
    EXPECT_TRUE(registry_.Add(call_).ok());
    SendHello(*call_, wire_);
    Run();
  }
  ~PlacedRowsTest() override {
    if (!wire_.end.has_value()) call_->OnCancel();
    call_->OnDone();
  }

  // Until there is nothing more to do.
  void Run() {
    size_t frames = 1;
    while (frames > 0 || wire_.writing) {
      frames = scheduler_.RunRound(engine_, absl::UnixEpoch()).value_or(0);
      ReadAll(*call_, wire_);
    }
  }
  v1::SegmentReply Register(const v1::ClientMessage& message) {
    Send(*call_, wire_, message);
    Run();
    return wire_.received.back().segment();
  }
  static v1::ClientMessage StepOf(uint64_t step_id, int tokens, v1::RowFormat format = kPacked) {
    v1::ClientMessage message;
    message.mutable_step()->set_step_id(step_id);
    message.mutable_step()->set_format(format);
    v1::Segment& segment = *message.mutable_step()->add_segments();
    for (int i = 0; i < tokens; ++i) segment.add_token_ids(static_cast<uint32_t>(i % 37));
    return message;
  }
  static v1::ClientMessage Placed(v1::ClientMessage step, uint64_t offset, uint32_t segment_id = 1) {
    step.mutable_step()->mutable_place()->set_segment_id(segment_id);
    step.mutable_step()->mutable_place()->set_offset(offset);
    return step;
  }
  Frames FramesOf(uint64_t step_id) const {
    Frames frames;
    for (const v1::ServerMessage& message : wire_.received) {
      if (message.reply().step_id() == step_id) frames.push_back(message.reply());
    }
    return frames;
  }
  Frames Answer(const v1::ClientMessage& step) {
    Send(*call_, wire_, step);
    Run();
    return FramesOf(step.step().step_id());
  }
  static std::string InMessages(const Frames& frames) {
    std::string bytes;
    for (const v1::StepReply& frame : frames) {
      bytes += frame.rows();
      for (const uint64_t id : frame.hash_ids()) bytes.append(reinterpret_cast<const char*>(&id), sizeof(id));
    }
    return bytes;
  }
  // What the frames say to lie in the segment, from `offset` on without a gap.
  static std::string InSegment(SegmentObject& object, uint64_t offset, const Frames& frames) {
    std::string bytes;
    for (const v1::StepReply& frame : frames) {
      EXPECT_TRUE(frame.rows().empty() && frame.hash_ids().empty());
      if (frame.place_bytes() == 0) continue;
      EXPECT_EQ(frame.place_offset(), offset + bytes.size());
      bytes += object.Read(frame.place_offset(), frame.place_bytes());
    }
    return bytes;
  }

  const SegmentRules rules_{true, 1 << 20, 2, "/engram-test-", {}};
  const ServiceContext placed_{tiny_.model, admission_, sessions_, gate_, scheduler_, 2, absl::InfiniteDuration(),
                               rules_};
  StreamRegistry registry_{2};
  Wire wire_;
  const std::shared_ptr<StreamCall> call_ = std::make_shared<StreamCall>(placed_, registry_, wire_);
};

}  // namespace engram

#endif  // ENGRAM_TESTS_UNIT_SERVER_PLACED_ROWS_H_
