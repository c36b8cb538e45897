// The engine over MPI ranks, against the golden cases and the dumb reader: run under mpirun, every rank running every
// test.

#include "shard/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "absl/time/clock.h"
#include "model/files/checkpoint.h"
#include "tests/golden/golden_case.h"
#include "tests/unit/shard/round_case.h"
#include "tests/unit/shard/synthetic_tables.h"

namespace engram {
namespace {

std::unique_ptr<Job> job;

EngineOptions OptionsOf(CombineMode mode, Placement placement) {
  EngineOptions options;
  options.combine = mode;
  options.placement = placement;
  options.round_rows_max = 16384;
  options.round_timeout = absl::Seconds(30);
  options.heartbeat = absl::Seconds(30);
  options.reply_bytes = 64 << 10;  // more than some rounds need and less than others
  return options;
}

absl::StatusOr<Checkpoint> OpenGolden(const std::string& name) {
  return OpenCheckpoint(GoldenPath(name + "_checkpoint"), GoldenPath(name + "_constants.gguf"));
}

class MpiEngine : public testing::TestWithParam<std::tuple<const char*, CombineMode, Placement>> {};

void ExpectReferencesRows(const char* name, const EngineOptions& options) {
  const absl::StatusOr<Checkpoint> checkpoint = OpenGolden(name);
  ASSERT_EQ(checkpoint.status(), absl::OkStatus());
  if (!job->is_front()) {
    ASSERT_EQ(job->Serve(*checkpoint, options), absl::OkStatus());
    return;
  }
  absl::StatusOr<std::unique_ptr<Engine>> engine = job->Start(*checkpoint, options);
  ASSERT_EQ(engine.status(), absl::OkStatus());
  const CombineMode mode = options.combine;
  ASSERT_NO_FATAL_FAILURE(ExpectGoldenRounds(**engine, *checkpoint, LoadGoldenCase(name), mode, job->ranks()));
  ASSERT_NO_FATAL_FAILURE(ExpectRandomRounds(**engine, *checkpoint, mode, job->ranks(), 20, 77));
  EXPECT_EQ((*engine)->Gather({}), absl::OkStatus());
  EXPECT_EQ((*engine)->Stop(), absl::OkStatus());
}

TEST_P(MpiEngine, ReturnsTheReferencesRows) {
  const auto [name, mode, placement] = GetParam();
  EngineOptions options = OptionsOf(mode, placement);
  for (const RepeatedRows repeated : {RepeatedRows::kEach, RepeatedRows::kOnce}) {
    options.repeated_rows = repeated;
    ASSERT_NO_FATAL_FAILURE(ExpectReferencesRows(name, options));
  }
}

INSTANTIATE_TEST_SUITE_P(All, MpiEngine,
                         testing::Combine(testing::ValuesIn(kGoldenNames),
                                          testing::Values(CombineMode::kAllReduceBf16, CombineMode::kAllReducePacked,
                                                          CombineMode::kOwnerGather),
                                          testing::Values(Placement::kHost, Placement::kMapped)));

// The last rank is told something else. All ranks hear the same refusal.
void ExpectDisagreement(const Checkpoint& checkpoint, const EngineOptions& options, const std::string& why) {
  const absl::Status status =
      job->is_front() ? job->Start(checkpoint, options).status() : job->Serve(checkpoint, options);
  if (job->ranks() == 1) return;
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              testing::HasSubstr("rank " + std::to_string(job->ranks() - 1) + " differs: its " + why));
}

TEST(MpiAgreement, NamesTheRankThatDiffers) {
  const bool last = job->rank() == job->ranks() - 1;
  const EngineOptions same = OptionsOf(CombineMode::kOwnerGather, Placement::kMapped);
  const absl::StatusOr<Checkpoint> tiny = OpenGolden("tiny");
  ASSERT_EQ(tiny.status(), absl::OkStatus());
  EngineOptions other = same;
  other.combine = CombineMode::kAllReducePacked;
  ExpectDisagreement(*tiny, last ? other : same,
                     "sharding.combine is ALL_REDUCE_PACKED, that of rank 0 is OWNER_GATHER");
  other = same;
  other.placement = Placement::kHost;
  ExpectDisagreement(*tiny, last ? other : same, "sharding.placement is HOST, that of rank 0 is MAPPED");
  other = same;
  other.heartbeat = absl::Seconds(31);
  ExpectDisagreement(*tiny, last ? other : same, "sharding.heartbeat_ms is 31000, that of rank 0 is 30000");
  Checkpoint changed = *tiny;
  changed.model_digest[0] = static_cast<char>(changed.model_digest[0] + 1);
  ExpectDisagreement(last ? changed : *tiny, same, "model digest is ");
  changed = *tiny;
  changed.constants_digest[0] = static_cast<char>(changed.constants_digest[0] + 1);
  ExpectDisagreement(last ? changed : *tiny, same, "constants digest is ");
  const absl::StatusOr<Checkpoint> extremes = OpenGolden("extremes");
  ASSERT_EQ(extremes.status(), absl::OkStatus());
  ExpectDisagreement(last ? *extremes : *tiny, same, "geometry digest is ");
}

TEST(MpiAgreement, ALoadThatFailsIsHeardByAll) {
  absl::StatusOr<Checkpoint> tiny = OpenGolden("tiny");
  ASSERT_EQ(tiny.status(), absl::OkStatus());
  const int last = job->ranks() - 1;
  if (job->rank() == last) tiny->tables[0].codes.path = "/nowhere/at/all";
  const EngineOptions options = OptionsOf(CombineMode::kOwnerGather, Placement::kMapped);
  const absl::Status status = job->is_front() ? job->Start(*tiny, options).status() : job->Serve(*tiny, options);
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("rank " + std::to_string(last) + ": layer 1: "));
}

TEST(MpiRoles, TheOtherRoleIsRefused) {
  const Checkpoint checkpoint;
  const EngineOptions options;
  const absl::Status status =
      job->is_front() ? job->Serve(checkpoint, options) : job->Start(checkpoint, options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
}

absl::Status AskLastRow(Engine& engine, size_t layer, uint64_t rows) {
  const std::vector<uint64_t> ids = {rows - 1, 0};
  std::vector<std::byte> out(2 * 64);
  const RowBlock block{layer, RowForm::kBf16, ids, out.data()};
  return engine.Gather({&block, 1});
}

// Each rank maps files of its own, alike; those of the last rank are cut short under its hands.
TEST(MpiFaults, AFileCutShortIsDataLossAndTheJobGoesOn) {
  constexpr uint64_t kRows = 9000;
  const TempFolder folder;
  const Checkpoint checkpoint = WriteSyntheticCheckpoint(folder, FileLayout::kApart, 32, {kRows, kRows});
  const std::jthread cutter([&] {
    absl::SleepFor(absl::Milliseconds(500));
    if (job->rank() == job->ranks() - 1) std::filesystem::resize_file(checkpoint.tables[0].codes.path, 5000);
  });
  const EngineOptions options = OptionsOf(CombineMode::kOwnerGather, Placement::kMapped);
  if (!job->is_front()) {
    EXPECT_EQ(job->Serve(checkpoint, options), absl::OkStatus());
    return;
  }
  absl::StatusOr<std::unique_ptr<Engine>> engine = job->Start(checkpoint, options);
  ASSERT_EQ(engine.status(), absl::OkStatus());
  absl::Status status;
  for (int i = 0; status.ok() && i < 1000; ++i) {
    absl::SleepFor(absl::Milliseconds(20));
    status = AskLastRow(**engine, 0, kRows);
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("rank " + std::to_string(job->ranks() - 1) + ": "));
  EXPECT_EQ(AskLastRow(**engine, 0, kRows).code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(AskLastRow(**engine, 1, kRows), absl::OkStatus()) << "the other layer is whole";
  EXPECT_EQ((*engine)->Stop(), absl::OkStatus());
}

}  // namespace
}  // namespace engram

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  absl::StatusOr<std::unique_ptr<engram::Job>> joined = engram::Job::Join(1);
  if (!joined.ok()) {
    std::fprintf(stderr, "%s\n", joined.status().ToString().c_str());
    return 2;
  }
  engram::job = *std::move(joined);
  if (RUN_ALL_TESTS() != 0) engram::job->Abort(1);
  const int rank = engram::job->rank();
  engram::job.reset();
  std::printf("rank %d passed\n", rank);
  return 0;
}
