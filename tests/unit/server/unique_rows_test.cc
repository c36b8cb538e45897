// Steps with unique_rows: what their frames hold, what they cost, and that all rows come out of them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "server/stream_outbox.h"
#include "tests/unit/server/scheduler_fixture.h"

namespace engram {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Of one frame, all rows: what a client makes of row_index.
std::string Expanded(const v1::StepReply& frame, size_t row_bytes) {
  if (frame.row_index().empty()) return frame.rows();
  std::string rows;
  uint32_t named = 0;
  for (const uint32_t row : frame.row_index()) {
    EXPECT_LE(row, named) << "rows stand in the order of their first use";
    named = std::max(named, row + 1);
    rows += frame.rows().substr(row * row_bytes, row_bytes);
  }
  EXPECT_EQ(frame.rows().size(), named * row_bytes) << "each row is used";
  return rows;
}

class UniqueRowsTest : public SchedulerTest {
 protected:
  UniqueRowsTest() : SchedulerTest(LargerFrames()) {}

  // 23 packed tokens a frame, 12 as bf16.
  static SchedulerOptions LargerFrames() {
    SchedulerOptions options = TinyOptions();
    options.frames = {.frame_bytes_max = 5000, .round_bytes_max = 10000};
    return options;
  }

  // Tokens of few kinds, so that whole n-grams come again.
  static Step Repeating(uint64_t step_id, size_t tokens, v1::RowFormat format, bool unique_rows) {
    Step step = MakeStep(step_id, 0, format);
    for (size_t i = 0; i < tokens; ++i) step.segments[0].window.push_back(static_cast<int32_t>(i % 2));
    step.tokens = tokens;
    step.unique_rows = unique_rows;
    return step;
  }

  std::vector<v1::StepReply> Run(Step step) {
    auto [stream, sink] = Open();
    const uint64_t id = step.step_id;
    Submit(stream, std::move(step));
    RunAll();
    return sink->FramesOf(id);
  }
};

TEST_F(UniqueRowsTest, EveryRowComesOutOfItsFrame) {
  for (const auto format : {v1::ROW_FORMAT_PACKED, v1::ROW_FORMAT_BF16}) {
    const size_t row_bytes = format == v1::ROW_FORMAT_PACKED ? 33 : 64;
    const auto frames = Run(Repeating(5, 40, format, true));
    ExpectEnd(frames, absl::StatusCode::kOk);
    std::string rows;
    size_t indexed = 0;
    for (const v1::StepReply& frame : frames) {
      rows += Expanded(frame, row_bytes);
      if (frame.row_index().empty()) continue;
      ++indexed;
      EXPECT_EQ(static_cast<uint64_t>(frame.row_index_size()), frame.token_count() * geometry_.columns());
      EXPECT_LT(frame.rows().size() + 4 * static_cast<size_t>(frame.row_index_size()),
                frame.token_count() * geometry_.columns() * row_bytes);
      EXPECT_LE(frame.ByteSizeLong(), 5000u);  // frame_bytes_max
    }
    EXPECT_GT(indexed, 0u);
    EXPECT_EQ(rows, Expected(Repeating(5, 40, format, false)));
  }
}

TEST_F(UniqueRowsTest, FramesAreCutAsWithoutIt) {
  const auto unique = Run(Repeating(5, 40, v1::ROW_FORMAT_PACKED, true));
  const auto all = Run(Repeating(5, 40, v1::ROW_FORMAT_PACKED, false));
  ASSERT_EQ(unique.size(), all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(unique[i].token_begin(), all[i].token_begin());
    EXPECT_EQ(unique[i].token_count(), all[i].token_count());
    EXPECT_THAT(all[i].row_index(), IsEmpty());
  }
}

TEST_F(UniqueRowsTest, AFrameThatItWouldNotMakeSmallerComesWhole) {
  Step step = Repeating(5, 1, v1::ROW_FORMAT_PACKED, true);  // the rows of one token: each of its own column
  const auto frames = Run(std::move(step));
  for (const v1::StepReply& frame : frames) EXPECT_THAT(frame.row_index(), IsEmpty());
  Step whole = Repeating(5, 1, v1::ROW_FORMAT_PACKED, false);
  EXPECT_EQ(PayloadOf(frames), Expected(whole));
}

TEST_F(UniqueRowsTest, TheRanksAreAskedForDifferentRowsAlone) {
  uint64_t asked = 0;
  engine_.fault = [&](absl::Span<const RowBlock> blocks) {
    for (const RowBlock& block : blocks) {
      std::vector<uint64_t> ids(block.ids.begin(), block.ids.end());
      std::sort(ids.begin(), ids.end());
      EXPECT_EQ(std::adjacent_find(ids.begin(), ids.end()), ids.end());
      asked += ids.size();
    }
    return absl::OkStatus();
  };
  const auto frames = Run(Repeating(5, 20, v1::ROW_FORMAT_PACKED, true));  // one frame a layer
  ExpectEnd(frames, absl::StatusCode::kOk);
  EXPECT_EQ(asked, scheduler_.counters().rows);
  EXPECT_EQ(scheduler_.counters().payload_bytes, asked * 33);
  EXPECT_LT(asked, 2 * 20 * uint64_t{geometry_.columns()});
}

TEST_F(UniqueRowsTest, ACancelledStepSendsNoIndex) {
  auto [stream, sink] = Open();
  Step step = Repeating(5, 20, v1::ROW_FORMAT_PACKED, true);
  Submit(stream, std::move(step));
  engine_.fault = [&, id = stream](absl::Span<const RowBlock>) {
    scheduler_.Cancel(id, 5);
    return absl::OkStatus();
  };
  RunAll();
  const auto frames = sink->FramesOf(5);
  ExpectEnd(frames, absl::StatusCode::kCancelled);
  for (const v1::StepReply& frame : frames) {
    EXPECT_THAT(frame.row_index(), IsEmpty());
    EXPECT_TRUE(frame.rows().empty());
  }
}

TEST_F(UniqueRowsTest, AFrameSettlesWhatItsStepOwedForAllItsRows) {
  Arena arena(1 << 20);
  const auto account = std::make_shared<ByteAccount>(std::make_shared<Doorbell>());
  const auto frame = [&](bool last) {
    ReplyFrame made;
    made.head.set_step_id(1);
    made.head.set_last(last);
    for (const uint32_t row : {0, 1, 0, 0}) made.head.add_row_index(row);
    made.payload = arena.Lease(4 * 33, account);
    made.payload.Cut(2 * 33);
    made.saved_bytes = 2 * 33;
    return made;
  };
  StreamOutbox outbox;
  outbox.AddStep(1, 3 * 4 * 33, 0);
  outbox.PushFrame(frame(false));
  outbox.PushFrame(frame(false));
  outbox.PushFrame(frame(true));
  const std::optional<OutMessage> first = outbox.Take();
  EXPECT_EQ(outbox.bytes_in_flight(), 2u * 4 * 33);
  v1::ServerMessage parsed;
  ASSERT_TRUE(parsed.ParseFromString(first->head + std::string(first->payload.size(), 'r')));
  EXPECT_THAT(parsed.reply().row_index(), ElementsAre(0, 1, 0, 0));
  EXPECT_EQ(parsed.reply().rows().size(), 66u);
  EXPECT_EQ(account->bytes(), 3u * 4096) << "a lease that was cut stays charged";
  outbox.DropRows(1);
  EXPECT_EQ(outbox.bytes_in_flight(), 2u * 4 * 33) << "settled by the last frame";
  outbox.Take();
  EXPECT_TRUE(outbox.idle());
  EXPECT_EQ(outbox.bytes_in_flight(), 0u);
}

TEST(UniqueRowsAdmission, IsRefusedForHashIds) {
  TinyServer server;
  const absl::StatusOr<Step> refused =
      server.Admit(Request("format: ROW_FORMAT_HASH_IDS unique_rows: true segments { token_ids: [1] }"));
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("unique_rows = true: must be false where format is"));
  const Step unique = Good(server.Admit(Request("unique_rows: true segments { token_ids: [1, 2] }")));
  const Step all = Good(server.Admit(Request("segments { token_ids: [1, 2] }")));
  EXPECT_TRUE(unique.unique_rows);
  EXPECT_FALSE(all.unique_rows);
  EXPECT_EQ(unique.reply_bytes, all.reply_bytes) << "limits count all rows";
}

}  // namespace
}  // namespace engram
