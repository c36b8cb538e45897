// A step whose rows come to shared memory, fed frame by frame. K = 2 columns of 33 bytes, two layers.

#ifndef ENGRAM_TESTS_UNIT_CLIENT_PLACED_STEP_H_
#define ENGRAM_TESTS_UNIT_CLIENT_PLACED_STEP_H_

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>

#include "client/pending_step.h"
#include "tests/unit/client/small_step.h"

namespace engram {

inline constexpr uint64_t kTokenBytes = 66;

// A step of `first` and `second` tokens in two segments, whose rows come to a place in the middle of a segment.
class PlacedStep {
 public:
  explicit PlacedStep(int first, int second = 0, const std::string& mask = "") {
    v1::StepRequest request;
    for (const int tokens : {first, second}) {
      v1::Segment& segment = *request.add_segments();
      for (int i = 0; i < tokens; ++i) segment.add_token_ids(1);
    }
    request.mutable_segments(0)->set_token_mask(mask);
    request.set_omit_masked_rows(!mask.empty());
    const StepShape shape = ShapeOf(request, Small());
    segment_ = *ClientSegment::Create({.bytes = 8192, .name_prefix = "/engram-test-"});
    before_ = segment_->Take(128);
    place_ = segment_->Take(2 * kTokenBytes * shape.SentTokens(0, shape.tokens()));
    step_ = std::make_unique<PendingStep>(9, shape, nullptr, place_);
  }

  absl::Status Results(std::initializer_list<int> codes) {
    v1::StepReply frame;
    for (const int code : codes) frame.add_results()->set_code(code);
    return step_->Apply(frame, {0, Nothing()});
  }
  // Writes tokens that are sent as bytes of their number where the server would, and says so. `shift`: the lie.
  absl::Status Rows(uint32_t layer, uint64_t begin, uint64_t end, uint64_t bytes, uint64_t shift = 0) {
    v1::StepReply frame;
    frame.set_layer(layer);
    frame.set_token_begin(begin);
    frame.set_token_count(end - begin);
    frame.set_place_offset(place_->offset() + placed_ + shift);
    frame.set_place_bytes(bytes);
    if (placed_ + bytes <= place_->bytes()) std::memset(place_->data() + placed_, static_cast<int>(begin), bytes);
    placed_ += bytes;
    return step_->Apply(frame, {0, Nothing()});
  }
  absl::Status Apply(const v1::StepReply& frame, uint64_t rows = 0) { return step_->Apply(frame, {rows, Nothing()}); }
  StepResult End() {
    v1::StepReply frame;
    frame.set_last(true);
    EXPECT_TRUE(step_->Apply(frame, {0, Nothing()}).ok());
    return step_->Take();
  }

  ClientSegment& segment() { return *segment_; }
  void LetGo() { place_.reset(); }
  const uint8_t* place() const { return place_->data(); }
  uint64_t offset() const { return place_->offset(); }

 private:
  static absl::FunctionRef<bool(uint8_t*, uint64_t)> Nothing() {
    static const auto kNothing = [](uint8_t*, uint64_t) { return false; };
    return kNothing;
  }

  std::shared_ptr<ClientSegment> segment_;
  std::shared_ptr<SegmentPlace> before_;
  std::shared_ptr<SegmentPlace> place_;
  std::unique_ptr<PendingStep> step_;
  uint64_t placed_ = 0;
};

}  // namespace engram

#endif  // ENGRAM_TESTS_UNIT_CLIENT_PLACED_STEP_H_
