// A scheduler whose engine takes two rounds and fills buffers at Finish.

#ifndef ENGRAM_TESTS_UNIT_SERVER_FLIGHT_FIXTURE_H_
#define ENGRAM_TESTS_UNIT_SERVER_FLIGHT_FIXTURE_H_

#include <algorithm>
#include <cstdint>
#include <utility>

#include "tests/unit/server/scheduler_fixture.h"

namespace engram {

inline constexpr uint64_t kFrameBuffer = 4096;  // one frame of TinyOptions takes one of the smallest class

class FlightTest : public SchedulerTest {
 protected:
  explicit FlightTest(SchedulerOptions options = TinyOptions()) : SchedulerTest(Counting(std::move(options))) {
    engine_.rounds_in_flight = 2;
  }

  SchedulerOptions Counting(SchedulerOptions options) {
    options.on_step_failure = [this](const absl::Status&) { ++failures_; };
    return options;
  }

  size_t RunOnce(absl::Time now = absl::UnixEpoch()) {
    const absl::StatusOr<size_t> frames = scheduler_.RunRound(engine_, now);
    EXPECT_TRUE(frames.ok()) << frames.status();
    return frames.value_or(0);
  }

  // A step of one layer.
  static Step MakeStepOf(size_t layer_index, uint64_t step_id, size_t tokens) {
    Step step = MakeStep(step_id, tokens);
    step.layer_indices = {layer_index};
    return step;
  }

  static bool HasLayer(absl::Span<const RowBlock> blocks, size_t layer_index) {
    return std::any_of(blocks.begin(), blocks.end(), [layer_index](const RowBlock& block) {
      return !block.ids.empty() && block.layer_index == layer_index;
    });
  }

  // Rows of layer index 1 cannot be read: said by Gather, and by Begin or Finish as `when` (B or F) says.
  void DamageLayer(char when) {
    const auto say = [this, when](absl::Span<const RowBlock> blocks) {
      const char call = engine_.calls.back();
      const bool said = (call == 'G' || call == when) && HasLayer(blocks, 1);
      return said ? absl::DataLossError("layer 1: the file changed") : absl::OkStatus();
    };
    engine_.fault = say;
    engine_.late_fault = say;
  }

  void ExpectRows(RecordingSink& sink, const Step& step) {
    ExpectEnd(sink.FramesOf(step.step_id), absl::StatusCode::kOk);
    EXPECT_EQ(PayloadOf(sink.FramesOf(step.step_id)), Expected(step));
  }

  int failures_ = 0;
};

}  // namespace engram

#endif  // ENGRAM_TESTS_UNIT_SERVER_FLIGHT_FIXTURE_H_
