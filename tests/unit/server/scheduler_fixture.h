// A scheduler over a FakeEngine, and a sink that writes down what it is given.

#ifndef ENGRAM_TESTS_UNIT_SERVER_SCHEDULER_FIXTURE_H_
#define ENGRAM_TESTS_UNIT_SERVER_SCHEDULER_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "model/mutex.h"
#include "server/scheduler.h"
#include "tests/unit/server/fake_engine.h"
#include "tests/unit/server/tiny_model.h"

namespace engram {

// Keeps every frame, leases included, until Release.
class RecordingSink final : public FrameSink {
 public:
  void Deliver(ReplyFrame frame) override {
    MutexLock lock(mu_);
    order_.push_back(frame.head.step_id());
    frames_[frame.head.step_id()].push_back(std::move(frame));
  }

  // Of one step, in order of arrival.
  std::vector<v1::StepReply> FramesOf(uint64_t step_id) {
    MutexLock lock(mu_);
    std::vector<v1::StepReply> frames;
    for (const ReplyFrame& frame : frames_[step_id]) frames.push_back(CopyToMessage(frame));
    return frames;
  }
  // The step of each frame, in order of arrival.
  std::vector<uint64_t> order() {
    MutexLock lock(mu_);
    return order_;
  }
  // As if all had been sent.
  void Release() {
    std::map<uint64_t, std::vector<ReplyFrame>> released;
    MutexLock lock(mu_);
    std::swap(released, frames_);
  }

 private:
  Mutex mu_;
  std::vector<uint64_t> order_ ABSL_GUARDED_BY(mu_);
  std::map<uint64_t, std::vector<ReplyFrame>> frames_ ABSL_GUARDED_BY(mu_);
};

inline SchedulerOptions TinyOptions() {
  SchedulerOptions options;
  options.frames = {.frame_bytes_max = 1000, .round_bytes_max = 2000};  // 3 packed tokens a frame, 3 frames a round
  options.unsent_bytes_max = 1 << 20;
  options.decode_tokens_max = 4;
  return options;
}

class SchedulerTest : public ::testing::Test {
 protected:
  explicit SchedulerTest(SchedulerOptions options = TinyOptions())
      : constants_(TinyConstants(geometry_)), scheduler_(geometry_, constants_, options), engine_(geometry_) {
    engine_.round_bytes_max = options.frames.round_bytes_max;
    gate_.Open();
  }

  std::pair<uint64_t, std::shared_ptr<RecordingSink>> Open() {
    auto sink = std::make_shared<RecordingSink>();
    return {scheduler_.OpenStream(sink), sink};
  }

  // One segment at position 0, both layers. The ids are a function of step_id.
  static Step MakeStep(uint64_t step_id, size_t tokens, v1::RowFormat format = v1::ROW_FORMAT_PACKED) {
    Step step;
    step.step_id = step_id;
    step.format = format;
    step.layer_indices = {1, 0};
    StepSegment segment;
    std::mt19937_64 random(step_id);
    for (size_t i = 0; i < tokens; ++i) segment.window.push_back(static_cast<int32_t>(random() % 20));
    step.segments.push_back(segment);
    step.tokens = tokens;
    step.results.emplace_back().set_session_id(step_id);
    return step;
  }

  void Submit(uint64_t stream, Step step) { scheduler_.Submit(stream, *gate_.Enter(), std::move(step)); }

  // Rounds until nothing is left to do.
  void RunAll(absl::Time now = absl::UnixEpoch()) {
    for (absl::StatusOr<size_t> frames = 1; frames.ok() && *frames > 0;) frames = scheduler_.RunRound(engine_, now);
  }

  // The rows (or ids) of a whole step of MakeStep, layer after layer, computed in one go.
  std::string Expected(const Step& step) const {
    const NgramHasher hasher(geometry_, constants_);
    std::string bytes;
    for (const size_t layer : step.layer_indices) {
      std::vector<uint64_t> ids(step.segments[0].window.size() * geometry_.columns());
      hasher.Hash(layer, step.segments[0].window, 0, absl::MakeSpan(ids));
      for (const uint64_t id : ids) {
        if (step.format == v1::ROW_FORMAT_HASH_IDS) {
          bytes.append(reinterpret_cast<const char*>(&id), sizeof(id));
        } else {
          const RowForm form = step.format == v1::ROW_FORMAT_BF16 ? RowForm::kBf16 : RowForm::kPacked;
          bytes += FakeRow(geometry_, layer, form, id);
        }
      }
    }
    return bytes;
  }

  static std::string PayloadOf(const std::vector<v1::StepReply>& frames) {
    std::string bytes;
    for (const v1::StepReply& frame : frames) {
      bytes += frame.rows();
      for (const uint64_t id : frame.hash_ids()) bytes.append(reinterpret_cast<const char*>(&id), sizeof(id));
    }
    return bytes;
  }

  static int LastFrames(const std::vector<v1::StepReply>& frames) {
    int last = 0;
    for (const v1::StepReply& frame : frames) last += frame.last() ? 1 : 0;
    return last;
  }

  // Ended exactly once, at the end, with this code.
  static void ExpectEnd(const std::vector<v1::StepReply>& frames, absl::StatusCode code) {
    ASSERT_FALSE(frames.empty());
    EXPECT_EQ(LastFrames(frames), 1);
    EXPECT_TRUE(frames.back().last());
    EXPECT_EQ(frames.back().code(), static_cast<int>(code)) << frames.back().message();
  }

  Geometry geometry_ = TinyGeometry();
  const HashConstants constants_;
  StepGate gate_{1000, absl::UnavailableError("closed")};
  Scheduler scheduler_;
  FakeEngine engine_;
};

}  // namespace engram

#endif  // ENGRAM_TESTS_UNIT_SERVER_SCHEDULER_FIXTURE_H_
