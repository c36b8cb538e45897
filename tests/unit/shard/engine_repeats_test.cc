// Rows that a round has several times: gathered once or each time, the answer is the same, byte for byte.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "shard/engine.h"
#include "tests/unit/shard/round_case.h"
#include "tests/unit/shard/synthetic_tables.h"

namespace engram {
namespace {

using ::testing::HasSubstr;

constexpr CombineMode kModes[] = {CombineMode::kAllReduceBf16, CombineMode::kAllReducePacked,
                                  CombineMode::kOwnerGather};

EngineOptions OptionsOf(CombineMode mode, RepeatedRows repeated, uint64_t reply_bytes) {
  EngineOptions options;
  options.combine = mode;
  options.repeated_rows = repeated;
  options.reply_bytes = reply_bytes;
  options.round_rows_max = 4096;
  options.round_timeout = absl::Seconds(60);
  options.heartbeat = absl::Seconds(60);
  return options;
}

// The engine, and what it noted.
struct Ranks {
  Ranks(const Checkpoint& checkpoint, int ranks, EngineOptions options) : job(*Job::Join(ranks)) {
    options.note = [this](const std::string& line) { noted += line + "\n"; };
    absl::StatusOr<std::unique_ptr<Engine>> made = job->Start(checkpoint, options);
    started = made.status();
    if (made.ok()) engine = *std::move(made);
  }

  std::string noted;
  std::unique_ptr<Job> job;
  absl::Status started;
  std::unique_ptr<Engine> engine;
};

// Ranks, mode, how, and memory for replies that owners write to: none, some rounds fit, all do.
class Repeats : public testing::TestWithParam<std::tuple<int, CombineMode, RepeatedRows, uint64_t>> {};

// Three rows in one table and few in the others: most of a round is there several times.
TEST_P(Repeats, AgreeWithTheDumbReader) {
  const auto [ranks, mode, repeated, reply_bytes] = GetParam();
  const TempFolder folder;
  const Checkpoint checkpoint = WriteSyntheticCheckpoint(folder, FileLayout::kApart, 32, {40, 3, 17});
  Ranks running(checkpoint, ranks, OptionsOf(mode, repeated, reply_bytes));
  ASSERT_EQ(running.started, absl::OkStatus());
  EXPECT_THAT(running.noted, HasSubstr(repeated == RepeatedRows::kOnce ? "once, then copied" : "each time"));
  ASSERT_NO_FATAL_FAILURE(
      ExpectRandomRounds(*running.engine, checkpoint, mode, ranks, 100, 3000 + static_cast<uint64_t>(ranks)));
  RoundCase round(checkpoint);  // as many rows as a round may have, all of them the same
  round.Add(1, RowForm::kBf16, std::vector<uint64_t>(4096, 2), true);
  ASSERT_EQ(round.Run(*running.engine), absl::OkStatus());
  ASSERT_NO_FATAL_FAILURE(round.ExpectRows(mode, ranks));
  EXPECT_EQ(running.engine->Stop(), absl::OkStatus());
}

INSTANTIATE_TEST_SUITE_P(All, Repeats,
                         testing::Combine(testing::Values(1, 2, 3, 4), testing::ValuesIn(kModes),
                                          testing::Values(RepeatedRows::kOnce, RepeatedRows::kEach),
                                          testing::Values(0, 4096, 1 << 20)));

TEST(RepeatedRowsDefault, IsOnceWhereValuesAreSummed) {
  const TempFolder folder;
  const Checkpoint checkpoint = WriteSyntheticCheckpoint(folder, FileLayout::kApart, 32, {40});
  const auto noted = [&](int ranks, CombineMode mode, uint64_t reply_bytes) {
    Ranks running(checkpoint, ranks, OptionsOf(mode, RepeatedRows::kDefault, reply_bytes));
    EXPECT_EQ(running.started, absl::OkStatus());
    EXPECT_EQ(running.engine->Stop(), absl::OkStatus());
    return running.noted;
  };
  for (const CombineMode mode : kModes) {
    EXPECT_THAT(noted(1, mode, 4096), HasSubstr("each time"));
    const bool once = mode == CombineMode::kAllReduceBf16;
    for (const uint64_t reply_bytes : {0, 4096}) {
      EXPECT_THAT(noted(2, mode, reply_bytes), HasSubstr(once ? "once, then copied" : "each time"));
    }
  }
}

TEST(RepeatedRowsOnGpus, AreGatheredEachTime) {
  const TempFolder folder;
  const Checkpoint checkpoint = WriteSyntheticCheckpoint(folder, FileLayout::kApart, 32, {40});
  EngineOptions options = OptionsOf(CombineMode::kOwnerGather, RepeatedRows::kOnce, 0);
  options.placement = Placement::kDevice;
  const Ranks running(checkpoint, 1, options);
  EXPECT_EQ(running.started.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(running.started.message()),
              HasSubstr("repeated_rows is GATHER_ONCE, must be GATHER_EACH on GPU ranks"));
}

}  // namespace
}  // namespace engram
