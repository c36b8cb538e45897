#include "server/frame_sender.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace engram {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Notes step ids and threads; frames of step 0 wait until Open.
class GatedSink final : public FrameSink {
 public:
  void Deliver(ReplyFrame frame) override {
    std::unique_lock lock(mutex_);
    if (frame.head.step_id() == 0) opened_.wait(lock, [this] { return open_; });
    steps_.push_back(frame.head.step_id());
    threads_.push_back(std::this_thread::get_id());
  }
  void Open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    opened_.notify_all();
  }
  std::vector<uint64_t> steps() {
    const std::lock_guard lock(mutex_);
    return steps_;
  }
  std::vector<std::thread::id> threads() {
    const std::lock_guard lock(mutex_);
    return threads_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
  std::vector<uint64_t> steps_;
  std::vector<std::thread::id> threads_;
};

ReplyFrame FrameOf(uint64_t step_id, bool decode) {
  ReplyFrame frame;
  frame.head.set_step_id(step_id);
  frame.decode = decode;
  return frame;
}

TEST(FrameSenderTest, WithoutAThreadTheCallerDelivers) {
  StageCounters stages;
  auto sink = std::make_shared<GatedSink>();
  FrameSender sender(false, stages);
  sender.Send(sink, FrameOf(1, false));
  sender.Send(sink, FrameOf(2, true));
  EXPECT_THAT(sink->steps(), ElementsAre(1, 2));
  EXPECT_THAT(sink->threads(), ElementsAre(std::this_thread::get_id(), std::this_thread::get_id()));
  EXPECT_GT(stages.deliver_ns(), 0u);
}

TEST(FrameSenderTest, DecodeFramesWaitForNoLargeOnes) {
  StageCounters stages;
  auto slow = std::make_shared<GatedSink>();
  auto fast = std::make_shared<GatedSink>();
  FrameSender sender(true, stages);
  sender.Send(slow, FrameOf(0, false));  // holds the sender's thread
  sender.Send(slow, FrameOf(1, false));
  sender.Send(fast, FrameOf(7, true));
  EXPECT_THAT(fast->steps(), ElementsAre(7));
  EXPECT_THAT(fast->threads(), ElementsAre(std::this_thread::get_id()));
  EXPECT_THAT(slow->steps(), IsEmpty());
  slow->Open();
}

TEST(FrameSenderTest, ItsEndDeliversWhatWaitsInOrder) {
  StageCounters stages;
  auto sink = std::make_shared<GatedSink>();
  {
    FrameSender sender(true, stages);
    for (const uint64_t step : {0, 1, 2, 3}) sender.Send(sink, FrameOf(step, false));
    sink->Open();
  }
  EXPECT_THAT(sink->steps(), ElementsAre(0, 1, 2, 3));
  EXPECT_NE(sink->threads()[0], std::this_thread::get_id());
}

TEST(FrameSenderTest, NobodyTakesNothing) {
  StageCounters stages;
  FrameSender sender(true, stages);
  sender.Send(nullptr, FrameOf(1, true));
  sender.Send(nullptr, FrameOf(1, false));
  EXPECT_EQ(stages.deliver_ns(), 0u);
}

}  // namespace
}  // namespace engram
