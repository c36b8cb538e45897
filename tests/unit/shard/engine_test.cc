// The engine over ranks in this process, against the golden cases and the dumb reader.

#include "shard/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <tuple>

#include "absl/time/clock.h"
#include "model/files/checkpoint.h"
#include "tests/golden/golden_case.h"
#include "tests/unit/shard/round_case.h"
#include "tests/unit/shard/synthetic_tables.h"

namespace engram {
namespace {

using ::testing::HasSubstr;

constexpr CombineMode kModes[] = {CombineMode::kAllReduceBf16, CombineMode::kAllReducePacked,
                                  CombineMode::kOwnerGather};

// Job and engine of `ranks` ranks; OK or the error of Start.
struct Running {
  std::unique_ptr<Job> job;
  absl::Status started;
  std::unique_ptr<Engine> engine;

  Running(const Checkpoint& checkpoint, int ranks, const EngineOptions& options) {
    absl::StatusOr<std::unique_ptr<Job>> joined = Job::Join(ranks);
    started = joined.status();
    if (!started.ok()) return;
    job = *std::move(joined);
    absl::StatusOr<std::unique_ptr<Engine>> made = job->Start(checkpoint, options);
    started = made.status();
    if (started.ok()) engine = *std::move(made);
  }
};

EngineOptions OptionsOf(CombineMode mode, Placement placement) {
  EngineOptions options;
  options.combine = mode;
  options.placement = placement;
  options.round_rows_max = 4096;
  options.round_timeout = absl::Seconds(60);  // machines that test are slow; nothing here waits for it
  options.heartbeat = absl::Seconds(60);
  return options;
}

class GoldenEngine : public testing::TestWithParam<std::tuple<const char*, int, CombineMode, Placement>> {};

TEST_P(GoldenEngine, ReturnsTheReferencesRows) {
  const auto [name, ranks, mode, placement] = GetParam();
  const GoldenCase golden = LoadGoldenCase(name);
  const absl::StatusOr<Checkpoint> checkpoint =
      OpenCheckpoint(GoldenPath(std::string(name) + "_checkpoint"), GoldenPath(std::string(name) + "_constants.gguf"));
  ASSERT_EQ(checkpoint.status(), absl::OkStatus());
  Running running(*checkpoint, ranks, OptionsOf(mode, placement));
  ASSERT_EQ(running.started, absl::OkStatus());
  ASSERT_NO_FATAL_FAILURE(ExpectGoldenRounds(*running.engine, *checkpoint, golden, mode, ranks));
  EXPECT_EQ(running.engine->Stop(), absl::OkStatus());
}

INSTANTIATE_TEST_SUITE_P(All, GoldenEngine,
                         testing::Combine(testing::ValuesIn(kGoldenNames), testing::Values(1, 2, 3, 4, 7),
                                          testing::ValuesIn(kModes),
                                          testing::Values(Placement::kHost, Placement::kMapped)));

class GoldenGguf : public testing::TestWithParam<const char*> {};

TEST_P(GoldenGguf, ReturnsTheReferencesRows) {
  const std::string name = GetParam();
  const GoldenCase golden = LoadGoldenCase(name);
  const absl::StatusOr<Checkpoint> checkpoint = OpenCheckpoint(GoldenPath(name + "_tables.gguf"), "");
  ASSERT_EQ(checkpoint.status(), absl::OkStatus());
  for (Placement placement : {Placement::kHost, Placement::kMapped}) {
    Running running(*checkpoint, 3, OptionsOf(CombineMode::kOwnerGather, placement));
    ASSERT_EQ(running.started, absl::OkStatus());
    ASSERT_NO_FATAL_FAILURE(ExpectGoldenRounds(*running.engine, *checkpoint, golden, CombineMode::kOwnerGather, 3));
    EXPECT_EQ(running.engine->Stop(), absl::OkStatus());
  }
}

INSTANTIATE_TEST_SUITE_P(All, GoldenGguf, testing::ValuesIn(kGoldenNames));

// Three layers, one of them smaller than the number of ranks.
class RandomEngine : public testing::TestWithParam<std::tuple<int, CombineMode>> {};

TEST_P(RandomEngine, AgreesWithTheDumbReaderOver200Rounds) {
  const auto [ranks, mode] = GetParam();
  const TempFolder folder;
  const Checkpoint checkpoint = WriteSyntheticCheckpoint(folder, FileLayout::kApart, 32, {97, 5, 1000});
  Running running(checkpoint, ranks, OptionsOf(mode, ranks % 2 == 0 ? Placement::kHost : Placement::kMapped));
  ASSERT_EQ(running.started, absl::OkStatus());
  ASSERT_NO_FATAL_FAILURE(
      ExpectRandomRounds(*running.engine, checkpoint, mode, ranks, 200, 1000 + static_cast<uint64_t>(ranks)));
  EXPECT_EQ(running.engine->Stop(), absl::OkStatus());
}

INSTANTIATE_TEST_SUITE_P(All, RandomEngine,
                         testing::Combine(testing::Values(1, 2, 3, 4, 7, 11), testing::ValuesIn(kModes)));

// Rounds of so many rows that threads share them.
class ThreadedEngine : public testing::TestWithParam<std::tuple<int, CombineMode>> {};

TEST_P(ThreadedEngine, AgreesWithTheDumbReader) {
  const auto [threads, mode] = GetParam();
  const TempFolder folder;
  const Checkpoint checkpoint = WriteSyntheticCheckpoint(folder, FileLayout::kApart, 32, {997});
  for (const Placement placement : {Placement::kHost, Placement::kMapped}) {
    for (const int ranks : {1, 2}) {
      EngineOptions options = OptionsOf(mode, placement);
      options.gather_threads = threads;
      Running running(checkpoint, ranks, options);
      ASSERT_EQ(running.started, absl::OkStatus());
      for (const RowForm form : {RowForm::kPacked, RowForm::kBf16}) {
        if (!Serves(mode, form)) continue;
        RoundCase round(checkpoint);
        std::vector<uint64_t> ids(4000);
        for (size_t i = 0; i < ids.size(); ++i) ids[i] = i * 367 % 997;
        round.Add(0, form, std::move(ids), ranks == 1);
        ASSERT_EQ(round.Run(*running.engine), absl::OkStatus());
        round.ExpectRows(mode, ranks);
      }
      EXPECT_EQ(running.engine->Stop(), absl::OkStatus());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ThreadedEngine, testing::Combine(testing::Values(1, 2, 5), testing::ValuesIn(kModes)));

TEST(GatherThreads, OutOfBoundsAreRefused) {
  const TempFolder folder;
  const Checkpoint checkpoint = WriteSyntheticCheckpoint(folder, FileLayout::kApart, 32, {9});
  EngineOptions options = OptionsOf(CombineMode::kOwnerGather, Placement::kHost);
  options.gather_threads = 257;
  const Running running(checkpoint, 1, options);
  EXPECT_EQ(running.started.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(running.started.message()), HasSubstr("gather_threads is 257, must be in [1, 256]"));
}

// Replies in memory that the ranks share: all of a round, or only some of it, which then goes by messages.
class SharedReplies : public testing::TestWithParam<std::tuple<int, uint64_t>> {};

TEST_P(SharedReplies, AreWrittenByTheOwners) {
  const auto [ranks, reply_bytes] = GetParam();
  const TempFolder folder;
  const Checkpoint checkpoint = WriteSyntheticCheckpoint(folder, FileLayout::kApart, 32, {97, 5, 1000});
  EngineOptions options = OptionsOf(CombineMode::kOwnerGather, Placement::kMapped);
  options.reply_bytes = reply_bytes;
  Running running(checkpoint, ranks, options);
  ASSERT_EQ(running.started, absl::OkStatus());
  EXPECT_EQ(running.engine->reply_memory().bytes.size(), ranks == 1 ? 0 : reply_bytes);
  const int seed = 2000 + ranks;
  ASSERT_NO_FATAL_FAILURE(ExpectRandomRounds(*running.engine, checkpoint, CombineMode::kOwnerGather, ranks, 200, seed));
  EXPECT_EQ(running.engine->Stop(), absl::OkStatus());
}

INSTANTIATE_TEST_SUITE_P(All, SharedReplies,
                         testing::Combine(testing::Values(1, 2, 3, 4, 7, 11), testing::Values(4096, 1 << 20)));

TEST(SharedReplyMemory, OutlivesTheEngine) {
  const TempFolder folder;
  const Checkpoint checkpoint = WriteSyntheticCheckpoint(folder, FileLayout::kApart, 32, {10});
  EngineOptions options = OptionsOf(CombineMode::kOwnerGather, Placement::kMapped);
  options.reply_bytes = 4096;
  ReplyMemory replies;
  {
    Running running(checkpoint, 2, options);
    ASSERT_EQ(running.started, absl::OkStatus());
    replies = running.engine->reply_memory();
    const uint64_t id = 9;
    const RowBlock block{0, RowForm::kPacked, {&id, 1}, replies.bytes.data()};
    ASSERT_EQ(running.engine->Gather({&block, 1}), absl::OkStatus());
  }
  EXPECT_EQ(static_cast<uint8_t>(replies.bytes[5]), SyntheticByte(0, 9, 5));
}

class EngineRules : public testing::TestWithParam<CombineMode> {
 protected:
  EngineRules() : checkpoint_(WriteSyntheticCheckpoint(folder_, FileLayout::kPacked, 32, {10, 6})) {
    options_ = OptionsOf(GetParam(), Placement::kMapped);
    options_.round_rows_max = 8;
  }

  absl::Status Ask(Engine& engine, size_t layer, RowForm form, std::vector<uint64_t> ids) {
    out_.assign(ids.size() * 64, std::byte{0x5A});
    const RowBlock block{layer, form, ids, out_.data()};
    return engine.Gather({&block, 1});
  }

  // Refused with these words, without a byte written.
  void ExpectRefused(Engine& engine, size_t layer, RowForm form, std::vector<uint64_t> ids, const std::string& why) {
    const absl::Status status = Ask(engine, layer, form, std::move(ids));
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(why));
    EXPECT_THAT(out_, testing::Each(std::byte{0x5A}));
  }

  TempFolder folder_;
  Checkpoint checkpoint_;
  EngineOptions options_;
  std::vector<std::byte> out_;
};

TEST_P(EngineRules, WrongRoundsAreRefusedAndLaterOnesServed) {
  Running running(checkpoint_, 3, options_);
  ASSERT_EQ(running.started, absl::OkStatus());
  Engine& engine = *running.engine;
  ExpectRefused(engine, 0, RowForm::kBf16, {3, 10}, "blocks[0].ids[1] is 10, the table has 10 rows");
  ExpectRefused(engine, 1, RowForm::kBf16, {6}, "blocks[0].ids[0] is 6, the table has 6 rows");
  ExpectRefused(engine, 1, RowForm::kBf16, {UINT64_MAX}, "the table has 6 rows");
  ExpectRefused(engine, 2, RowForm::kBf16, {0}, "layer_index is 2, the model has 2 layers");
  ExpectRefused(engine, 0, RowForm::kBf16, std::vector<uint64_t>(9, 1), "a round of 9 rows, round_rows_max is 8");
  if (!Serves(GetParam(), RowForm::kPacked)) {
    ExpectRefused(engine, 0, RowForm::kPacked, {0}, "ALL_REDUCE_BF16 does not serve");
  }
  const uint64_t id = 1;
  const RowBlock nowhere{0, RowForm::kBf16, {&id, 1}, nullptr};
  EXPECT_EQ(engine.Gather({&nowhere, 1}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Ask(engine, 0, RowForm::kBf16, {9, 0}), absl::OkStatus());
  EXPECT_EQ(Ask(engine, 0, RowForm::kPacked, {}), absl::OkStatus());  // of no rows, whatever the form
  EXPECT_EQ(engine.Stop(), absl::OkStatus());
}

TEST_P(EngineRules, EmptyRoundsAreOrdinary) {
  for (int ranks : {1, 4}) {
    Running running(checkpoint_, ranks, options_);
    ASSERT_EQ(running.started, absl::OkStatus());
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(running.engine->Gather({}), absl::OkStatus());
      EXPECT_EQ(Ask(*running.engine, 1, RowForm::kBf16, {}), absl::OkStatus());
      EXPECT_EQ(Ask(*running.engine, 1, RowForm::kPacked, {}), absl::OkStatus()) << "no rows: whatever the form";
      EXPECT_EQ(running.engine->Heartbeat(), absl::OkStatus());
    }
    EXPECT_EQ(Ask(*running.engine, 1, RowForm::kBf16, {5, 5}), absl::OkStatus());
    EXPECT_EQ(running.engine->Stop(), absl::OkStatus());
  }
}

TEST_P(EngineRules, AfterStopNothingIsServed) {
  Running running(checkpoint_, 2, options_);
  ASSERT_EQ(running.started, absl::OkStatus());
  EXPECT_EQ(running.engine->Stop(), absl::OkStatus());
  EXPECT_EQ(running.engine->Gather({}).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(running.engine->Heartbeat().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_P(EngineRules, AFileCutShortUnderAWorkerIsDataLossAndTheJobGoesOn) {
  for (int ranks : {1, 3}) {
    const TempFolder folder;
    const Checkpoint checkpoint = WriteSyntheticCheckpoint(folder, FileLayout::kApart, 32, {9000, 9000});
    Running running(checkpoint, ranks, options_);
    ASSERT_EQ(running.started, absl::OkStatus());
    ASSERT_EQ(Ask(*running.engine, 0, RowForm::kBf16, {8999}), absl::OkStatus());
    std::filesystem::resize_file(checkpoint.tables[0].codes.path, 5000);
    for (int i = 0; i < 3; ++i) {
      const absl::Status status = Ask(*running.engine, 0, RowForm::kBf16, {8999, 1});
      EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
      EXPECT_THAT(std::string(status.message()), HasSubstr("codes0"));
    }
    EXPECT_EQ(Ask(*running.engine, 1, RowForm::kBf16, {8999, 1}), absl::OkStatus()) << "the other layer is whole";
    EXPECT_EQ(running.engine->Stop(), absl::OkStatus());
  }
}

INSTANTIATE_TEST_SUITE_P(All, EngineRules, testing::ValuesIn(kModes));

class EngineStart : public testing::Test {
 protected:
  EngineStart() : checkpoint_(WriteSyntheticCheckpoint(folder_, FileLayout::kApart, 32, {100, 60})) {}

  void ExpectRefused(const EngineOptions& options, absl::StatusCode code, const std::string& why) {
    const Running running(checkpoint_, 3, options);
    EXPECT_EQ(running.started.code(), code);
    EXPECT_THAT(std::string(running.started.message()), HasSubstr(why));
  }

  TempFolder folder_;
  Checkpoint checkpoint_;
};

TEST_F(EngineStart, RefusesOptionsThatCannotWork) {
  EngineOptions options;
  options.round_rows_max = 0;
  ExpectRefused(options, absl::StatusCode::kInvalidArgument, "round_rows_max is 0, must be in [1, 2147483648]");
  options = EngineOptions();
  options.round_timeout = absl::ZeroDuration();
  ExpectRefused(options, absl::StatusCode::kInvalidArgument, "round_timeout is 0");
  options = EngineOptions();
  options.heartbeat = -absl::Seconds(1);
  ExpectRefused(options, absl::StatusCode::kInvalidArgument, "heartbeat is -1s");
}

TEST_F(EngineStart, RefusesACheckpointThatContradictsItself) {
  checkpoint_.tables.pop_back();
  ExpectRefused(EngineOptions(), absl::StatusCode::kInvalidArgument, "1 tables for 2 layers");
}

TEST_F(EngineStart, SaysWhichRankCouldNotLoad) {
  // Rank 2 owns the end of the table, which is gone.
  std::filesystem::resize_file(checkpoint_.tables[0].codes.path, 77 + 32 * 70);
  ExpectRefused(EngineOptions(), absl::StatusCode::kDataLoss, "rank 2: layer 1: ");
}

TEST_F(EngineStart, ReportsTheLoadOfAllRanksTogether) {
  std::atomic<uint64_t> done = 0;
  EngineOptions options;
  options.placement = Placement::kHost;
  options.progress = [&](const LoadProgress& progress) {
    EXPECT_EQ(progress.bytes_total, 160u * 33u);
    done = progress.bytes_done;
  };
  const Running running(checkpoint_, 3, options);
  ASSERT_EQ(running.started, absl::OkStatus());
  EXPECT_EQ(done, 160u * 33u);
}

TEST_F(EngineStart, AnEngineThatIsNotStoppedLeavesNoThreadBehind) {
  EngineOptions options;
  options.heartbeat = options.round_timeout = absl::Hours(1);
  const Running running(checkpoint_, 4, options);
  EXPECT_EQ(running.started, absl::OkStatus());
}

TEST_F(EngineStart, AFrontEndThatFallsSilentLosesItsRanks) {
  EngineOptions options;
  options.heartbeat = absl::Milliseconds(50);
  options.round_timeout = absl::Milliseconds(200);
  const Running running(checkpoint_, 2, options);
  ASSERT_EQ(running.started, absl::OkStatus());
  absl::SleepFor(absl::Seconds(1));
  EXPECT_EQ(running.engine->Heartbeat().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(running.engine->Gather({}).code(), absl::StatusCode::kUnavailable) << "and stays lost";
}

TEST(JobJoin, BoundsTheNumberOfShards) {
  EXPECT_EQ(Job::Join(0).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Job::Join(1025).status().code(), absl::StatusCode::kInvalidArgument);
  const absl::StatusOr<std::unique_ptr<Job>> job = Job::Join(5);
  ASSERT_EQ(job.status(), absl::OkStatus());
  EXPECT_EQ((*job)->ranks(), 5);
  EXPECT_TRUE((*job)->is_front());
  EXPECT_EQ((*job)->Serve(Checkpoint(), EngineOptions()).code(), absl::StatusCode::kFailedPrecondition);
}

TEST(JobJoin, UnderALauncherShardsMustBeOne) {
  setenv("PMIX_RANK", "0", 1);
  EXPECT_EQ(Job::Join(2).status().code(), absl::StatusCode::kInvalidArgument);
  unsetenv("PMIX_RANK");
  setenv("OMPI_COMM_WORLD_SIZE", "1", 1);
  EXPECT_EQ(Job::Join(4).status().code(), absl::StatusCode::kInvalidArgument);
  unsetenv("OMPI_COMM_WORLD_SIZE");
}

#if ENGRAM_WITHOUT_MPI
TEST(JobJoin, WithoutMpiOneLaunchedRankServesAloneAndMoreAreRefused) {
  setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
  const absl::Status two = Job::Join(1).status();
  EXPECT_EQ(two.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(two.message()), HasSubstr("built without MPI"));
  setenv("OMPI_COMM_WORLD_SIZE", "1", 1);
  EXPECT_EQ(Job::Join(1).status(), absl::OkStatus());
  unsetenv("OMPI_COMM_WORLD_SIZE");
}
#endif

}  // namespace
}  // namespace engram
