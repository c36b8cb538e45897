// Frames into results, and every way a frame can contradict its request. K = 2 columns of 33 bytes: 66 bytes a token.

#include "client/pending_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/client/small_step.h"

namespace engram {
namespace {

using testing::Each;
using testing::HasSubstr;

constexpr size_t kTokenBytes = 66;

v1::StepRequest Request(std::initializer_list<int> segment_tokens, std::initializer_list<uint32_t> layers = {1}) {
  v1::StepRequest step;
  uint64_t session_id = 0;
  for (int tokens : segment_tokens) {
    v1::Segment& segment = *step.add_segments();
    segment.set_session_id(++session_id);
    for (int i = 0; i < tokens; ++i) segment.add_token_ids(1);
  }
  step.mutable_layers()->Add(layers.begin(), layers.end());
  return step;
}

// A step under test, fed frame by frame.
class Step {
 public:
  explicit Step(const v1::StepRequest& request) : step_(9, ShapeOf(request, Small())) {}

  absl::Status Results(std::initializer_list<int> codes) {
    v1::StepReply frame;
    for (int code : codes) frame.add_results()->set_code(code);
    return Apply(frame, "");
  }
  // Token t's bytes are all t.
  absl::Status Rows(uint32_t layer, uint64_t begin, uint64_t end) {
    std::string rows;
    for (uint64_t token = begin; token < end; ++token) rows.append(kTokenBytes, static_cast<char>(token));
    return Rows(layer, begin, end, rows);
  }
  absl::Status Rows(uint32_t layer, uint64_t begin, uint64_t end, const std::string& rows) {
    v1::StepReply frame;
    frame.set_layer(layer);
    frame.set_token_begin(begin);
    frame.set_token_count(end - begin);
    return Apply(frame, rows);
  }
  absl::Status Last() {
    v1::StepReply frame;
    frame.set_last(true);
    frame.set_table_version(3);
    return Apply(frame, "");
  }
  absl::Status Apply(const v1::StepReply& frame, const std::string& rows) { return ApplyFrame(step_, frame, rows); }
  PendingStep& operator*() { return step_; }

 private:
  PendingStep step_;
};

TEST(PendingStepTest, FillsLayersAscending) {
  Step step(Request({2, 1}, {}));
  ASSERT_TRUE(step.Results({0, 0}).ok());
  ASSERT_TRUE(step.Rows(1, 0, 3).ok());
  ASSERT_TRUE(step.Rows(14, 0, 1).ok());
  ASSERT_TRUE(step.Rows(14, 1, 3).ok());
  EXPECT_FALSE((*step).WaitFor(absl::ZeroDuration()));
  ASSERT_TRUE(step.Last().ok());
  const StepResult result = (*step).Take();
  ASSERT_TRUE(result.status.ok());
  EXPECT_EQ(result.step_id, 9u);
  EXPECT_EQ(result.table_version, 3u);
  ASSERT_EQ(result.layers.size(), 2u);
  EXPECT_EQ(result.layers[0].layer(), 1u);
  EXPECT_EQ(result.layers[1].layer(), 14u);
  EXPECT_EQ(result.layers[1].bytes().size(), 3 * kTokenBytes);
  for (uint64_t token = 0; token < 3; ++token) EXPECT_THAT(result.layers[1].row(token, 1), Each(token));
  EXPECT_EQ(result.layer(2), nullptr);
}

TEST(PendingStepTest, MarksTheTokensOfRefusedSegments) {
  Step step(Request({1, 2, 1, 1}));
  ASSERT_TRUE(step.Results({0, 9, 0, 3}).ok());
  ASSERT_TRUE(step.Rows(1, 0, 1).ok());
  ASSERT_TRUE(step.Rows(1, 3, 4).ok());
  ASSERT_TRUE(step.Last().ok());
  const StepResult result = (*step).Take();
  ASSERT_TRUE(result.status.ok());
  EXPECT_EQ(result.segment_status(1).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(result.layers[0].row(0, 0), Each(0));
  EXPECT_THAT(result.layers[0].row(1, 0), Each(0xFF));
  EXPECT_THAT(result.layers[0].row(2, 1), Each(0xFF));
  EXPECT_THAT(result.layers[0].row(3, 1), Each(3));
  EXPECT_THAT(result.layers[0].row(4, 1), Each(0xFF));
}

TEST(PendingStepTest, PutsRowsWhereTheirTokensAreWhenMaskedOnesAreLeftOut) {
  v1::StepRequest request = Request({3, 2});
  request.set_omit_masked_rows(true);
  request.mutable_segments(0)->set_token_mask(std::string("\0\1\0", 3));
  Step step(request);
  ASSERT_TRUE(step.Results({0, 0}).ok());
  ASSERT_TRUE(step.Rows(1, 0, 4, std::string(kTokenBytes, 'a') + std::string(kTokenBytes, 'b')).ok());
  ASSERT_TRUE(step.Rows(1, 4, 5, std::string(kTokenBytes, 'c')).ok());
  ASSERT_TRUE(step.Last().ok());
  const StepResult result = (*step).Take();
  const std::string expected = {'\xFF', 'a', '\xFF', 'b', 'c'};
  for (uint64_t token = 0; token < 5; ++token) {
    EXPECT_THAT(result.layers[0].row(token, 0), Each(static_cast<uint8_t>(expected[token]))) << token;
  }
}

TEST(PendingStepTest, TakesRowIds) {
  v1::StepRequest request = Request({2});
  request.set_format(v1::ROW_FORMAT_HASH_IDS);
  Step step(request);
  v1::StepReply frame;
  frame.set_layer(1);
  frame.set_token_count(2);
  frame.add_results();
  for (const uint64_t id : {384016681ull, 2ull, 3ull, 4ull}) frame.add_hash_ids(id);
  frame.set_last(true);
  ASSERT_TRUE(step.Apply(frame, "").ok());
  const StepResult result = (*step).Take();
  EXPECT_EQ(result.layers[0].hash_id(0, 0), 384016681u);
  EXPECT_EQ(result.layers[0].hash_id(1, 1), 4u);
}

TEST(PendingStepTest, NeedsNoRowsForNoTokens) {
  Step step(Request({0, 0}));
  ASSERT_TRUE(step.Results({0, 0}).ok());
  ASSERT_TRUE(step.Last().ok());
  EXPECT_TRUE((*step).Take().status.ok());
  Step empty(Request({}));
  ASSERT_TRUE(empty.Last().ok());
  EXPECT_TRUE((*empty).Take().status.ok());
}

void ExpectWrong(const absl::Status& status, const std::string& words) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(status.message(), HasSubstr("step 9"));
  EXPECT_THAT(status.message(), HasSubstr(words));
}

TEST(PendingStepTest, RefusesRowsOutsideTheStep) {
  Step step(Request({3}));
  ASSERT_TRUE(step.Results({0}).ok());
  ExpectWrong(step.Rows(1, 2, 4), "tokens from 2, 2 of them, in a step of 3");
  v1::StepReply frame;
  frame.set_layer(1);
  frame.set_token_begin(~uint64_t{0});
  frame.set_token_count(2);
  ExpectWrong(step.Apply(frame, ""), "in a step of 3");
  ExpectWrong(step.Rows(2, 0, 1), "layer 2, not asked for");
}

TEST(PendingStepTest, RefusesRowsOfTheWrongSize) {
  Step step(Request({3}));
  ASSERT_TRUE(step.Results({0}).ok());
  ExpectWrong(step.Rows(1, 0, 3, std::string(2 * kTokenBytes, 'x')), "132 bytes of rows for tokens 0..3");
  v1::StepReply frame;
  ExpectWrong(step.Apply(frame, "x"), "rows without tokens");
  frame.set_layer(1);
  frame.set_token_count(1);
  frame.add_hash_ids(1);
  ExpectWrong(step.Apply(frame, ""), "another format");
}

TEST(PendingStepTest, RefusesRowsInTheWrongPlace) {
  Step step(Request({3, 2}));
  ExpectWrong(step.Rows(1, 0, 1), "rows before the result of segment 0");
  ASSERT_TRUE(step.Results({0, 9}).ok());
  ExpectWrong(step.Rows(1, 1, 2), "no rows of the accepted segment 0");
  ASSERT_TRUE(step.Rows(1, 0, 2).ok());
  ExpectWrong(step.Rows(1, 1, 3), "goes back from token 2 to 1");
  ExpectWrong(step.Rows(1, 2, 4), "rows of the refused segment 1");
}

TEST(PendingStepTest, RefusesAnEndThatComesTooEarly) {
  Step missing_rows(Request({3}));
  ASSERT_TRUE(missing_rows.Results({0}).ok());
  ASSERT_TRUE(missing_rows.Rows(1, 0, 2).ok());
  ExpectWrong(missing_rows.Last(), "no rows of the accepted segment 0");
  Step missing_result(Request({1, 1}));
  ASSERT_TRUE(missing_result.Results({0}).ok());
  ExpectWrong(missing_result.Last(), "1 results for 2 segments");
  Step extra_result(Request({1}));
  ExpectWrong(extra_result.Results({0, 0}), "results for 2 of 1 segments");
}

}  // namespace
}  // namespace engram
