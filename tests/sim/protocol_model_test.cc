// The protocol model itself against answers worked out by hand, then the server against the model.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/protocol_model.h"
#include "tests/sim/sequential_run.h"
#include "tests/sim/sim_seed.h"
#include "tests/unit/server/tiny_model.h"

namespace engram {
namespace {

using Code = absl::StatusCode;
using ::testing::ElementsAre;

constexpr int kOperations = 70000;

class ModelTest : public ::testing::Test {
 protected:
  ModelAnswer Admit(const std::string& text, uint64_t stream = 1) {
    return model_.Admit("a", stream, Request(text), ModelRoom());
  }

  SimModel sim_;
  ProtocolModel model_{sim_};
};

TEST_F(ModelTest, RowsAreThoseOfTheFormula) {
  // Multipliers of layer 1 and primes and offsets that one can multiply by hand. t, t-1, t-2, t-3 newest first.
  HashConstants& constants = sim_.checkpoint.constants;
  constants.multipliers = {0, 0, 0, 0, 3, 5, 7, 9};
  constants.primes = {101, 103, 107, 109, 113, 127, 101, 103, 107, 109, 113, 127};
  constants.offsets = {0, 1, 2, 3, 4, 5, 0, 101, 204, 311, 420, 533};
  constants.pad_id = 2;
  const ModelSession history{.base = 0, .ids = {4, -1, 10, 19}};
  // Position 0: 4*3 = 12; pads: 12^10 = 6, 6^14 = 8, 8^18 = 26.
  EXPECT_THAT(model_.RowIds(1, history, 0), ElementsAre(6, 101 + 6, 204 + 8, 311 + 8, 420 + 26, 533 + 26));
  // Position 3: 19*3 = 57, 57^(10*5) = 11; the dead position 1 hides what is before it: 11^14 = 5, 5^18 = 23.
  EXPECT_THAT(model_.RowIds(1, history, 3), ElementsAre(11, 101 + 11, 204 + 5, 311 + 5, 420 + 23, 533 + 23));
  // Position 1 is dead itself: all four are pads: 6^10 = 12, 12^14 = 2, 2^18 = 16.
  EXPECT_THAT(model_.RowIds(1, history, 1), ElementsAre(12, 101 + 12, 204 + 2, 311 + 2, 420 + 16, 533 + 16));
}

TEST_F(ModelTest, SessionsAsTheProtocolSays) {
  EXPECT_THAT(Admit("segments { session_id: 7 token_ids: [1, 22, 3, 4] }").segments[0].state, ElementsAre(2, 3, 4));
  EXPECT_EQ(Admit("segments { session_id: 7 start_pos: 5 }").segments[0].code, Code::kFailedPrecondition);
  EXPECT_EQ(Admit("segments { session_id: 7 start_pos: 2 token_ids: 9 }").segments[0].length, 3u);  // rollback
  EXPECT_THAT(model_.Find("a", 7)->ids, ElementsAre(1, 2, 9));
  EXPECT_EQ(Admit("segments { session_id: 7 start_pos: 3 }", 2).segments[0].code, Code::kAborted);  // never ended
  EXPECT_EQ(
      Admit("segments { session_id: 8 start_pos: 2 fork_from { session_id: 7 position: 2 } }", 2).segments[0].length,
      2u);
  EXPECT_EQ(Admit("segments { session_id: 0 start_pos: 1 }").segments[0].code, Code::kFailedPrecondition);
  EXPECT_EQ(Admit("segments { session_id: 9 start_pos: 9 lookback { token_ids: [1, 2, 3] } }").segments[0].length, 9u);
  EXPECT_EQ(Admit("segments { session_id: 9 start_pos: 8 }").segments[0].code, Code::kFailedPrecondition);  // base 6
  EXPECT_EQ(Admit("close_sessions: 7", 2).code, Code::kAborted);
  EXPECT_EQ(Admit("close_sessions: 7").code, Code::kOk);
  EXPECT_EQ(model_.sessions(), 2u);
}

TEST_F(ModelTest, TokensOfTheAnswer) {
  const ModelAnswer answer = Admit(
      "layers: 14 omit_masked_rows: true segments { session_id: 1 token_ids: [99, 5] }"
      "segments { session_id: 2 token_ids: [99, 5] token_mask: \"\\000\\001\" }");
  EXPECT_EQ(answer.segments[0].code, Code::kInvalidArgument);
  ASSERT_EQ(answer.tokens.size(), 2u);
  EXPECT_EQ(answer.tokens[0].token, 2u);
  EXPECT_TRUE(answer.tokens[0].row_ids.empty());
  EXPECT_EQ(answer.tokens[1].row_ids.size(), 6u);
  EXPECT_EQ(answer.owed_bytes, 6u * 33);
}

TEST(Sequential, ServerAgreesWithTheModel) {
  const SimModel sim;
  for (const uint64_t seed : SimSeeds()) {
    SCOPED_TRACE(SayHowToRepeat(seed));
    SequentialRun run(sim, seed);
    run.Go(kOperations);
    if (HasFailure()) return;
    run.End();
    for (const Code code :
         {Code::kOk, Code::kCancelled, Code::kInvalidArgument, Code::kDeadlineExceeded, Code::kFailedPrecondition,
          Code::kResourceExhausted, Code::kAborted, Code::kUnavailable, Code::kDataLoss}) {
      std::printf("%s: %d steps, %d segments\n", absl::StatusCodeToString(code).c_str(), run.step_codes[code],
                  run.segment_codes[code]);
      EXPECT_GT(run.step_codes[code], 10) << absl::StatusCodeToString(code);
    }
    for (const Code code :
         {Code::kOk, Code::kInvalidArgument, Code::kFailedPrecondition, Code::kResourceExhausted, Code::kAborted}) {
      EXPECT_GT(run.segment_codes[code], 10) << absl::StatusCodeToString(code);
    }
  }
}

}  // namespace
}  // namespace engram
