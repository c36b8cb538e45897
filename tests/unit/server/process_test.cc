#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>

#include "server/process_exit.h"
#include "server/process_files.h"
#include "server/process_load.h"
#include "server/process_signals.h"

namespace engram {
namespace {

TEST(ProcessTest, ExitCodesSayWhetherToStartAgain) {
  EXPECT_EQ(ExitCodeOf(absl::OkStatus()), 0);
  EXPECT_EQ(ExitCodeOf(absl::NotFoundError("no such checkpoint")), 78);
  EXPECT_EQ(ExitCodeOf(absl::InvalidArgumentError("")), 78);
  EXPECT_EQ(ExitCodeOf(absl::FailedPreconditionError("digests differ")), 78);
  EXPECT_EQ(ExitCodeOf(absl::DataLossError("file too short")), 78);
  EXPECT_EQ(ExitCodeOf(absl::UnavailableError("rank 3 is silent")), 75);
  EXPECT_EQ(ExitCodeOf(absl::DeadlineExceededError("")), 75);
  EXPECT_EQ(ExitCodeOf(absl::InternalError("")), 1);
}

std::string Contents(const std::filesystem::path& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

TEST(ProcessTest, AnnouncementLivesAsLongAsItsObject) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("engram_process_" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  const std::filesystem::path path = folder / "port";
  std::ofstream(path) << "of an earlier run";
  {
    AnnouncementFile file(path);
    EXPECT_FALSE(std::filesystem::exists(path));
    EXPECT_TRUE(file.Write("127.0.0.1:5\n").ok());
    EXPECT_EQ(Contents(path), "127.0.0.1:5\n");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  AnnouncementFile nowhere(folder / "missing" / "port");
  EXPECT_THAT(nowhere.Write("x").ToString(), ::testing::HasSubstr("missing/port"));
  EXPECT_TRUE(AnnouncementFile("").Write("x").ok());
  std::filesystem::remove_all(folder);
}

TEST(ProcessTest, LoadLineSaysBytesRateAndTime) {
  constexpr uint64_t kGiB = uint64_t{1} << 30;
  EXPECT_EQ(LoadLine({24 * kGiB, 96 * kGiB}, 12), "loading: 24.0 of 96.0 GiB (25 %), 2.0 GiB/s, 36 s left");
  EXPECT_EQ(LoadLine({0, 96 * kGiB}, 0), "loading: 0.0 of 96.0 GiB (0 %)");
  EXPECT_EQ(LoadLine({0, 0}, 3), "loading: 0.0 of 0.0 GiB (100 %)");
}

TEST(ProcessTest, StopSignalIsAnEvent) {
  BlockStopSignals();
  {
    const StopWatcher leaves_without_one([](int) { ADD_FAILURE(); });
  }
  std::promise<int> received;
  const StopWatcher watcher([&received](int signal) { received.set_value(signal); });
  ASSERT_EQ(kill(getpid(), SIGTERM), 0);
  auto future = received.get_future();
  ASSERT_EQ(future.wait_for(std::chrono::seconds(30)), std::future_status::ready);
  EXPECT_EQ(future.get(), SIGTERM);
}

}  // namespace
}  // namespace engram
