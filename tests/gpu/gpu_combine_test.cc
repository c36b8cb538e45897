// One rank's Combine where a whole engine does not lead: held streams, and askers other than rank 0.

#include "shard/gpu/gpu_combine.h"

#include <gmock/gmock.h>

#include <deque>
#include <vector>

#include "tests/gpu/gpu_combine_fixture.h"

namespace engram {
namespace {

using cuda_double::HoldStreams;
using ::testing::Contains;

// One rank alone owes nobody anything: two rounds are begun while the device has not even started.
TEST_F(GpuCombineTest, AloneNothingIsWaitedForBeforeDelivery) {
  RoundCase small = Make(30, 3);
  RoundCase large = Make(1500, 3);
  std::vector<PinnedBuffer> pinned;
  for (const absl::Span<std::byte> memory : large.memories()) {
    pinned.push_back(PinnedBuffer::Register(0, memory, "reply memory").value());
  }
  Alone([&](Combine& combine) {
    HoldStreams(true);
    EXPECT_EQ(PlanAndAsk(combine, small.MakeBlocks(), InAMinute()), absl::OkStatus());
    EXPECT_EQ(PlanAndAsk(combine, large.MakeBlocks(), InAMinute()), absl::OkStatus());
    HoldStreams(false);
    for (const RoundCase* round : {&small, &large}) {
      ASSERT_EQ(combine.Deliver(InAMinute()), absl::OkStatus());
      round->ExpectRows(CombineMode::kOwnerGather, 1);
    }
  });
}

TEST_F(GpuCombineTest, ADeviceThatDoesNotAnswerIsNotWaitedForBeyondTheDeadline) {
  RoundCase small = Make(30, 1);
  RoundCase large = Make(1500, 1);
  Alone([&](Combine& combine) {
    HoldStreams(true);
    EXPECT_EQ(PlanAndAsk(combine, small.MakeBlocks(), InAMinute()), absl::OkStatus());
    EXPECT_EQ(combine.Deliver(DeadlineAfter(absl::Milliseconds(20))),
              absl::UnavailableError("the copy of a round's rows did not end in time on the device"));
    EXPECT_EQ(PlanAndAsk(combine, large.MakeBlocks(), DeadlineAfter(absl::Milliseconds(20))),
              absl::UnavailableError("the rows of a round did not end in time on the device"))
        << "memory that is not pinned is filled by a call that waits";
    HoldStreams(false);
  });
}

// A graph for each power of two, slot and form, and no more.
TEST_F(GpuCombineTest, GraphsAreFew) {
  Alone([&](Combine& combine) {
    for (uint64_t rows = 1; rows <= 1100; rows += 1 + rows / 16) {
      for (const RowForm form : {RowForm::kPacked, RowForm::kBf16}) {
        RoundCase round(checkpoint_);
        round.Add(1, form, std::vector<uint64_t>(rows, rows % 500), false);
        for (int slot = 0; slot < 2; ++slot) {
          ASSERT_EQ(PlanAndAsk(combine, round.MakeBlocks(), InAMinute()), absl::OkStatus());
          ASSERT_EQ(combine.Deliver(InAMinute()), absl::OkStatus());
        }
        round.ExpectRows(CombineMode::kOwnerGather, 1);
      }
    }
    EXPECT_THAT(cuda_double::Leaks(), Contains("44 graphs"));  // 1, 2, 4 .. 1024
  });
}

TEST_F(GpuCombineTest, OneRankAloneCannotBeAsked) {
  Alone([&](Combine& combine) {
    absl::Status rows;
    EXPECT_EQ(combine.Answer(RoundHeader(), InAMinute(), rows).code(), absl::StatusCode::kInternal);
  });
}

// The parameter: the mode. Three ranks.
class GpuCombineRanks : public GpuCombineTest, public testing::WithParamInterface<CombineMode> {
 protected:
  static constexpr int kRanks = 3;

  // Every rank takes a turn at asking for each of `rounds`, with nothing but the Combine between them.
  void AskInTurns(std::deque<RoundCase>& rounds) const {
    RunGpuRanks(kRanks, [&](Collective& host) {
      absl::StatusOr<Rank> rank = Load(GetParam(), host);
      ASSERT_EQ(rank.status(), absl::OkStatus());
      for (size_t i = 0; i < rounds.size(); ++i) {
        const int asker = static_cast<int>(i) % kRanks;
        ASSERT_EQ(TakePart(*rank->combine, host, asker, rounds[i]), absl::OkStatus());
      }
    });
  }

  static absl::Status TakePart(Combine& combine, Collective& host, int asker, RoundCase& round) {
    std::vector<RoundHeader> headers(kRanks);
    const std::vector<RowBlock> blocks = host.rank() == asker ? round.MakeBlocks() : std::vector<RowBlock>();
    if (host.rank() == asker) combine.Plan(blocks, absl::MakeSpan(headers));
    for (RoundHeader& header : headers) {
      ENGRAM_RETURN_IF_ERROR(BroadcastRecord(host, asker, header, InAMinute()));
      header.asking_rank = static_cast<uint32_t>(asker);
    }
    absl::Status rows;
    if (host.rank() != asker) {
      ENGRAM_RETURN_IF_ERROR(combine.Answer(headers[static_cast<size_t>(host.rank())], InAMinute(), rows));
      return rows;
    }
    ENGRAM_RETURN_IF_ERROR(combine.Ask(blocks, InAMinute(), rows));
    ENGRAM_RETURN_IF_ERROR(combine.Deliver(InAMinute()));
    round.ExpectRows(GetParam(), kRanks);
    return rows;
  }
};

INSTANTIATE_TEST_SUITE_P(All, GpuCombineRanks, testing::ValuesIn(kCombineModes));

TEST_P(GpuCombineRanks, AnyRankCanAsk) {
  std::mt19937_64 random(5);
  std::deque<RoundCase> rounds;
  for (const size_t rows : {1, 20, 300, 1500, 0, 2000, 7, 1100, 90, 64, 64, 64}) {
    rounds.push_back(MakeRound(checkpoint_, GetParam(), rows, 3, random));
  }
  AskInTurns(rounds);
}

}  // namespace
}  // namespace engram
