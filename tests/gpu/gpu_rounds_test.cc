// Rounds of whole engines on GPU ranks, of all sizes and mixtures, against the dumb reader: in the double.

#include <gmock/gmock.h>

#include <deque>
#include <tuple>
#include <vector>

#include "tests/gpu/gpu_engine.h"
#include "tests/gpu/gpu_ranks.h"
#include "tests/unit/shard/synthetic_tables.h"

namespace engram {
namespace {

// Three layers, one of them smaller than the number of ranks, of both placements.
class GpuRounds : public GpuEngineTest, public testing::WithParamInterface<std::tuple<int, CombineMode>> {
 protected:
  void SetUp() override {
    Install(ranks() % 2);
    checkpoint_ = WriteSyntheticCheckpoint(folder_, FileLayout::kApart, ranks() % 2 == 0 ? 64 : 96, {97, 3, 1000});
    options_ = GpuOptionsOf(mode(), Placement::kDevice);
    options_.layer_placements = {Placement::kDevice, Placement::kHostPinned, Placement::kDevice};
  }

  static int ranks() { return std::get<0>(GetParam()); }
  static CombineMode mode() { return std::get<1>(GetParam()); }

  RoundCase Make(size_t rows, size_t blocks) { return MakeRound(checkpoint_, mode(), rows, blocks, random_); }
  void Expect(const RoundCase& round) { ASSERT_NO_FATAL_FAILURE(round.ExpectRows(mode(), ranks())); }

  const TempFolder folder_;
  Checkpoint checkpoint_;
  EngineOptions options_;
  std::mt19937_64 random_{7};
};

INSTANTIATE_TEST_SUITE_P(All, GpuRounds,
                         testing::Combine(testing::Values(1, 2, 3, 4, 7), testing::ValuesIn(kCombineModes)));

TEST_P(GpuRounds, AgreeWithTheDumbReader) {
  GpuEngine running(checkpoint_, ranks(), options_);
  ASSERT_EQ(running.started, absl::OkStatus());
  ASSERT_NO_FATAL_FAILURE(ExpectRandomRounds(*running.engine, checkpoint_, mode(), ranks(), 40, 1000));
  EXPECT_EQ(running.engine->Stop(), absl::OkStatus());
}

// Around every power of two up to the largest small round, and beyond.
TEST_P(GpuRounds, OfEverySize) {
  GpuEngine running(checkpoint_, ranks(), options_);
  ASSERT_EQ(running.started, absl::OkStatus());
  const int64_t acquired = cuda_double::Acquisitions();
  for (const size_t rows : {1, 2, 3, 4, 5, 8, 9, 255, 256, 257, 1023, 1024, 1025, 2048, 4096}) {
    for (const size_t blocks : {1, 7}) {
      RoundCase round = Make(rows, blocks);
      ASSERT_EQ(round.Run(*running.engine), absl::OkStatus()) << rows << " rows";
      ASSERT_NO_FATAL_FAILURE(Expect(round));
    }
  }
  EXPECT_EQ(cuda_double::Acquisitions(), acquired) << "a graph was captured while ranks wait for each other";
  EXPECT_EQ(running.engine->Stop(), absl::OkStatus());
}

// A graph fills up to a power of two: not beyond what there is memory for.
TEST_P(GpuRounds, OfAFewRowsAtMost) {
  for (const uint64_t rows_max : {1, 9, 100}) {
    options_.round_rows_max = rows_max;
    GpuEngine running(checkpoint_, ranks(), options_);
    ASSERT_EQ(running.started, absl::OkStatus());
    for (uint64_t rows = rows_max < 10 ? 0 : rows_max - 10; rows <= rows_max; ++rows) {
      RoundCase round = Make(rows, 2);
      ASSERT_EQ(round.Run(*running.engine), absl::OkStatus());
      ASSERT_NO_FATAL_FAILURE(Expect(round));
    }
    EXPECT_EQ(running.engine->Gather({}), absl::OkStatus());
    EXPECT_EQ(running.engine->Heartbeat(), absl::OkStatus());
    EXPECT_EQ(running.engine->Stop(), absl::OkStatus());
  }
}

// Begin, Begin, Finish, Finish, in every mixture of small and large, each round checked when it is there.
TEST_P(GpuRounds, TwoInFlight) {
  GpuEngine running(checkpoint_, ranks(), options_);
  ASSERT_EQ(running.started, absl::OkStatus());
  Engine& engine = *running.engine;
  ASSERT_EQ(engine.rounds_in_flight_max(), 2);
  std::deque<RoundCase> begun;
  const auto finish = [&] {
    ASSERT_EQ(engine.Finish(), absl::OkStatus());
    ASSERT_NO_FATAL_FAILURE(Expect(begun.front()));
    begun.pop_front();
  };
  for (int i = 0; i < 12; ++i) {
    if (begun.size() == 2) {
      ASSERT_NO_FATAL_FAILURE(finish());
    }
    begun.push_back(Make(i % 3 == 1 ? 1500 : 40, 1 + i % 4));
    ASSERT_EQ(engine.Begin(begun.back().MakeBlocks()), absl::OkStatus());
  }
  EXPECT_EQ(engine.Begin({}).code(), absl::StatusCode::kFailedPrecondition) << "a third";
  while (!begun.empty()) ASSERT_NO_FATAL_FAILURE(finish());
  EXPECT_EQ(engine.Stop(), absl::OkStatus());
}

// Pinned outputs, the copies of one round under way while the next gathers; then pinned ones among others.
TEST_P(GpuRounds, ToPinnedMemory) {
  GpuEngine running(checkpoint_, ranks(), options_);
  ASSERT_EQ(running.started, absl::OkStatus());
  Engine& engine = *running.engine;
  for (int i = 0; i < 4; ++i) {
    RoundCase rounds[] = {Make(1500, 3), Make(2000, 4)};
    std::vector<PinnedBuffer> pinned;
    for (RoundCase& round : rounds) {
      for (const absl::Span<std::byte> memory : round.memories()) {
        if (i == 3 && pinned.size() % 2 == 1) break;
        pinned.push_back(PinnedBuffer::Register(0, memory, "reply memory").value());
      }
      ASSERT_EQ(engine.Begin(round.MakeBlocks()), absl::OkStatus());
    }
    for (const RoundCase& round : rounds) {
      ASSERT_EQ(engine.Finish(), absl::OkStatus());
      ASSERT_NO_FATAL_FAILURE(Expect(round));
    }
  }
  EXPECT_EQ(engine.Stop(), absl::OkStatus());
}

// Blocks whose outputs follow each other in the memory that the engine was told of: one copy for all.
TEST_P(GpuRounds, ToReplyMemory) {
  GpuEngine running(checkpoint_, ranks(), options_);
  ASSERT_EQ(running.started, absl::OkStatus());
  const size_t width = checkpoint_.geometry.bf16_row_bytes();
  std::vector<std::byte> memory(4000 * width);
  ASSERT_EQ(running.engine->PinReplyMemory(absl::MakeSpan(memory)), absl::OkStatus());
  std::vector<uint64_t> ids(4000);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = i * 37 % 97;
  std::vector<RowBlock> blocks;
  for (size_t at = 0; at < ids.size(); at += 400) {
    blocks.push_back({0, RowForm::kBf16, absl::MakeSpan(ids).subspan(at, 400), memory.data() + at * width});
  }
  ASSERT_EQ(running.engine->Gather(blocks), absl::OkStatus());
  for (size_t i = 0; i < ids.size(); ++i) {
    const std::vector<std::byte> wanted = OracleRow(checkpoint_, 0, ids[i], RowForm::kBf16, mode(), ranks());
    ASSERT_TRUE(std::equal(wanted.begin(), wanted.end(), memory.begin() + static_cast<std::ptrdiff_t>(i * width))) << i;
  }
  EXPECT_EQ(running.engine->Stop(), absl::OkStatus());
  running.engine.reset();  // before its reply memory
}

}  // namespace
}  // namespace engram
