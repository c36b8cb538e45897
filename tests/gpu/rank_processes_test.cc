// Ranks as processes: how they end is known to whoever started them, and the engine runs on them.

#include "tests/gpu/rank_processes.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "absl/time/clock.h"
#include "tests/gpu/engine_ranks.h"

namespace engram {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<RankExit> ExitsOf(int ranks, absl::Duration limit, const std::function<int(Collective&)>& body) {
  return RunRankProcesses(ranks, limit, body).value();
}

TEST(RankProcesses, SpeakToEachOtherAndEndWell) {
  const std::vector<RankExit> exits = ExitsOf(3, absl::Minutes(1), [](Collective& collective) {
    std::vector<uint64_t> words = {uint64_t{1} << collective.rank()};
    const absl::Status status = collective.AllReduceSum(absl::MakeSpan(words), DeadlineAfter(absl::Seconds(30)));
    std::printf("sum %d\n", static_cast<int>(words[0]));
    return status.ok() && collective.ranks() == 3 ? 0 : 1;
  });
  ASSERT_EQ(exits.size(), 3u);
  for (int rank = 0; rank < 3; ++rank) {
    const RankExit& exit = exits[static_cast<size_t>(rank)];
    EXPECT_EQ(exit.rank, rank);
    EXPECT_TRUE(exit.ok);
    EXPECT_EQ(exit.how, "exit code 0");
    EXPECT_EQ(exit.output, "sum 7\n");
  }
  EXPECT_EQ(FailuresOf(exits), "");
}

TEST(RankProcesses, TheirCodesSignalsAndWordsAreKept) {
  const std::vector<RankExit> exits = ExitsOf(4, absl::Minutes(1), [](Collective& collective) {
    std::fprintf(stderr, "words of %d\n", collective.rank());
    if (collective.rank() == 1) throw std::runtime_error("no way out");
    if (collective.rank() == 2) (void)raise(SIGKILL);
    return collective.rank() == 3 ? 42 : 0;
  });
  EXPECT_EQ(exits[1].how, "exit code 3");
  EXPECT_EQ(exits[1].output, "words of 1\nrank 1 threw: no way out\n");
  EXPECT_EQ(exits[2].how, "signal 9");
  EXPECT_EQ(exits[3].how, "exit code 42");
  const std::string failures = FailuresOf(exits);
  EXPECT_THAT(failures, HasSubstr("rank 3: exit code 42\nwords of 3\n"));
  EXPECT_THAT(failures, Not(HasSubstr("words of 0")));
}

TEST(RankProcesses, WhoNeverEndsIsKilled) {
  const absl::Time begin = absl::Now();
  const std::vector<RankExit> exits = ExitsOf(2, absl::Milliseconds(300), [](Collective& collective) {
    if (collective.rank() == 1) absl::SleepFor(absl::Hours(1));
    return 0;
  });
  EXPECT_LT(absl::Now() - begin, absl::Seconds(60));
  EXPECT_TRUE(exits[0].ok);
  EXPECT_FALSE(exits[1].ok);
  EXPECT_EQ(exits[1].how, "still running after 300ms: killed");
}

TEST(RankProcesses, WhoLeavesIsNoticedByTheOthers) {
  const std::vector<RankExit> exits = ExitsOf(2, absl::Minutes(1), [](Collective& collective) {
    if (collective.rank() == 0) (void)raise(SIGKILL);
    std::puts(collective.AwaitHeader(DeadlineAfter(absl::Minutes(1))).status().ToString().c_str());
    return 0;
  });
  EXPECT_EQ(exits[1].output, "UNAVAILABLE: rank 0 has left\n");
}

// Fails; run by the test below.
TEST(RankProcesses, DISABLED_OneRankExpectsSomethingWrong) {
  RunOnRankProcesses(2, absl::Minutes(1), [](Collective& collective) { EXPECT_EQ(collective.rank(), 0); });
}

// This program once more: what it reports is all that a developer sees.
TEST(RankProcesses, AFailedExpectationInARankFailsTheTest) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  const std::string command =
      program + " --gtest_also_run_disabled_tests --gtest_filter=*OneRankExpectsSomethingWrong --gtest_color=no 2>&1";
  std::FILE* pipe = popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string output;
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) output.push_back(static_cast<char>(c));
  EXPECT_NE(pclose(pipe), 0);
  EXPECT_THAT(output, HasSubstr("rank 1: exit code 1"));
  EXPECT_THAT(output, HasSubstr("collective.rank()"));
  EXPECT_THAT(output, HasSubstr("[  FAILED  ] 1 test"));
}

// The parameter: ranks, mode, placement.
class EngineOnProcesses : public testing::TestWithParam<std::tuple<int, CombineMode, Placement>> {};

TEST_P(EngineOnProcesses, ReturnsTheReferencesRows) {
  const auto [ranks, mode, placement] = GetParam();
  const EngineOptions options = TestEngineOptions(mode, placement, nullptr);
  RunOnRankProcesses(ranks, absl::Minutes(2),
                     [&options](Collective& collective) { CheckEngineOnRank(collective, options); });
}

INSTANTIATE_TEST_SUITE_P(All, EngineOnProcesses,
                         testing::Combine(testing::Values(1, 2, 3, 4),
                                          testing::Values(CombineMode::kAllReduceBf16, CombineMode::kAllReducePacked,
                                                          CombineMode::kOwnerGather),
                                          testing::Values(Placement::kMapped, Placement::kHost)));

}  // namespace
}  // namespace engram
