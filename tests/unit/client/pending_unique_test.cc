// Frames with a row_index into results, and every way it can be wrong. K = 2 columns of 33 bytes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "client/pending_step.h"
#include "client/row_index.h"
#include "tests/unit/client/small_step.h"

namespace engram {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr size_t kRowBytes = 33;

// Rows by one letter each.
std::string RowsOf(const std::string& letters) {
  std::string rows;
  for (const char letter : letters) rows.append(kRowBytes, letter);
  return rows;
}

std::string LettersOf(const LayerRows& layer) {
  std::string letters;
  for (uint64_t token = 0; token < layer.tokens(); ++token) {
    for (uint32_t column = 0; column < layer.columns(); ++column) {
      const absl::Span<const uint8_t> row = layer.row(token, column);
      if (row.empty()) {
        letters += '-';
        continue;
      }
      EXPECT_THAT(row, Each(row[0]));
      letters += row[0] == 0xFF ? '-' : static_cast<char>(row[0]);
    }
  }
  return letters;
}

class UniqueStep {
 public:
  // One segment with this mask, '1' or '0' a token.
  UniqueStep(const std::string& mask, bool keep_unique, bool unique_rows = true) {
    v1::StepRequest request;
    request.set_omit_masked_rows(true);
    request.set_unique_rows(unique_rows);
    v1::Segment& segment = *request.add_segments();
    for (const char bit : mask) {
      segment.add_token_ids(1);
      segment.mutable_token_mask()->push_back(static_cast<char>(bit - '0'));
    }
    StepShape shape = ShapeOf(request, Small({1}));
    shape.keep_unique = keep_unique;
    step_.emplace(9, shape);
    v1::StepReply results;
    results.add_results();
    EXPECT_TRUE(Apply(results, "").ok());
  }

  absl::Status Rows(uint64_t begin, uint64_t end, std::initializer_list<uint32_t> index, const std::string& letters) {
    v1::StepReply frame;
    frame.set_layer(1);
    frame.set_token_begin(begin);
    frame.set_token_count(end - begin);
    for (const uint32_t row : index) frame.add_row_index(row);
    return Apply(frame, RowsOf(letters));
  }
  absl::Status Apply(const v1::StepReply& frame, const std::string& rows) { return ApplyFrame(*step_, frame, rows); }
  StepResult End() {
    v1::StepReply frame;
    frame.set_last(true);
    EXPECT_TRUE(Apply(frame, "").ok());
    return step_->Take();
  }

 private:
  std::optional<PendingStep> step_;
};

TEST(PendingUnique, CopiesRowsToEveryPlace) {
  UniqueStep step("1111", false);
  ASSERT_TRUE(step.Rows(0, 3, {0, 1, 1, 0, 2, 1}, "abc").ok());
  ASSERT_TRUE(step.Rows(3, 4, {0, 0}, "d").ok());
  const StepResult result = step.End();
  EXPECT_EQ(LettersOf(result.layers[0]), "abbacbdd");
  EXPECT_EQ(result.layers[0].bytes().size(), 8 * kRowBytes);
  EXPECT_THAT(result.layers[0].row_index(), IsEmpty());
  EXPECT_EQ(result.received_bytes, 4 * kRowBytes + 8 * 4);
}

TEST(PendingUnique, MasksLeaveGaps) {
  UniqueStep step("10011", false);
  ASSERT_TRUE(step.Rows(0, 5, {0, 1, 2, 1, 3, 0}, "abcd").ok());
  EXPECT_EQ(LettersOf(step.End().layers[0]), "ab----cbda");
}

TEST(PendingUnique, FramesWithoutAnIndexHoldEveryRow) {
  for (const bool keep : {false, true}) {
    UniqueStep step("111", keep);
    ASSERT_TRUE(step.Rows(0, 2, {}, "abab").ok());
    ASSERT_TRUE(step.Rows(2, 3, {0, 0}, "c").ok());
    EXPECT_EQ(LettersOf(step.End().layers[0]), "ababcc") << keep;
  }
}

TEST(PendingUnique, KeepsRowsAsTheyCame) {
  UniqueStep step("10111", true);
  ASSERT_TRUE(step.Rows(0, 3, {0, 1, 1, 0}, "ab").ok());
  ASSERT_TRUE(step.Rows(3, 5, {0, 0, 0, 1}, "bc").ok());
  StepResult result = step.End();
  LayerRows& layer = result.layers[0];
  constexpr uint32_t kNone = LayerRows::kNoRow;
  EXPECT_THAT(layer.row_index(), ElementsAre(0, 1, kNone, kNone, 1, 0, 2, 2, 2, 3));
  EXPECT_EQ(layer.bytes().size(), 4 * kRowBytes);
  EXPECT_EQ(LettersOf(layer), "ab--babbbc");
  layer.Drop(0, 2);  // what seeds a session is taken out of the result
  EXPECT_EQ(layer.tokens(), 3u);
  EXPECT_EQ(LettersOf(layer), "babbbc");
}

TEST(PendingUnique, RefusesWhatDoesNotFit) {
  for (const bool keep : {false, true}) {
    const auto refusal = [keep](std::initializer_list<uint32_t> index, const std::string& letters) {
      const absl::Status status = UniqueStep("111", keep).Rows(0, 2, index, letters);
      EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
      return std::string(status.message());
    };
    EXPECT_THAT(refusal({0, 1, 0}, "ab"), HasSubstr("3 values of row_index for 4 rows"));
    EXPECT_THAT(refusal({0, 1, 0, 1, 0}, "ab"), HasSubstr("5 values of row_index for 4 rows"));
    EXPECT_THAT(refusal({0, 1, 2, 0}, "ab"), HasSubstr("row_index[2] = 2, 2 of 2 rows are named before it"));
    EXPECT_THAT(refusal({0, 4294967295, 0, 1}, "ab"), HasSubstr("row_index[1] = 4294967295"));
    EXPECT_THAT(refusal({1, 0, 0, 1}, "ab"), HasSubstr("row_index[0] = 1, 0 of 2 rows are named before it"));
    EXPECT_THAT(refusal({0, 1, 1, 0}, "abc"), HasSubstr("row_index names 2 of 3 rows"));
    EXPECT_THAT(refusal({0, 0, 0, 0}, ""), HasSubstr("row_index[0] = 0, 0 of 0 rows are named before it"));
    EXPECT_THAT(refusal({}, "abc"), HasSubstr("99 bytes of rows for"));
  }
}

TEST(PendingUnique, RefusesAnIndexWhereNoneBelongs) {
  const absl::Status unasked = UniqueStep("11", false, false).Rows(0, 1, {0, 0}, "a");
  EXPECT_EQ(unasked.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(unasked.message()), HasSubstr("row_index, not asked for"));
  v1::StepReply frame;
  frame.add_row_index(0);
  EXPECT_THAT(std::string(UniqueStep("11", false).Apply(frame, "").message()), HasSubstr("rows without tokens"));
  frame.set_layer(1);
  frame.set_token_count(1);
  frame.add_row_index(0);
  EXPECT_THAT(std::string(UniqueStep("11", false).Apply(frame, std::string(kRowBytes + 1, 'a')).message()),
              HasSubstr("34 bytes of rows under a row_index"));
}

// Random bytes for an index never read past the rows.
TEST(PendingUnique, AnyIndexIsAnsweredOrRefused) {
  std::mt19937_64 random(7);
  int accepted = 0;
  for (int round = 0; round < 5000; ++round) {
    UniqueStep step("1011", random() % 2 == 0);
    v1::StepReply frame;
    frame.set_layer(1);
    frame.set_token_count(4);
    const uint64_t values = random() % 8 == 0 ? random() % 9 : 6;
    for (uint64_t i = 0; i < values; ++i) frame.add_row_index(static_cast<uint32_t>(random() % 3));
    if (!step.Apply(frame, RowsOf(std::string(1 + random() % 3, 'x'))).ok()) continue;
    ++accepted;
    EXPECT_EQ(LettersOf(step.End().layers[0]), "xx--xxxx");
  }
  EXPECT_GT(accepted, 100);
}

}  // namespace
}  // namespace engram
