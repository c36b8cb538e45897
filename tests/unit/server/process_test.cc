#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>

#include "model/files/file.h"
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
  EXPECT_EQ(ExitCodeOf(absl::ResourceExhaustedError("placement HOST needs more than there is")), 78);
  EXPECT_EQ(ExitCodeOf(SystemError(ENAMETOOLONG, "checkpoint", "open")), 78);
  EXPECT_EQ(ExitCodeOf(SystemError(EMFILE, "checkpoint", "open")), 75);
  EXPECT_EQ(ExitCodeOf(absl::InternalError("")), 1);
  EXPECT_EQ(ExitCodeOf(absl::AlreadyExistsError("listen.address is taken")), 1);
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
  std::ofstream(path) << "localhost:65535\n";  // of an earlier run
  {
    AnnouncementFile file("listen.port_file", path, LooksLikePortFile);
    EXPECT_TRUE(std::filesystem::exists(path));
    EXPECT_TRUE(file.Claim().ok());
    EXPECT_FALSE(std::filesystem::exists(path));
    EXPECT_TRUE(file.Write("127.0.0.1:5\n").ok());
    EXPECT_EQ(Contents(path), "127.0.0.1:5\n");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  AnnouncementFile nowhere("listen.port_file", folder / "missing" / "port", LooksLikePortFile);
  EXPECT_THAT(nowhere.Claim().ToString(), ::testing::HasSubstr("missing/port: cannot be written"));
  EXPECT_THAT(nowhere.Write("x").ToString(), ::testing::HasSubstr("missing/port: cannot be written"));
  EXPECT_TRUE(AnnouncementFile("listen.port_file", "", LooksLikePortFile).Write("x").ok());
  std::filesystem::remove_all(folder);
}

TEST(ProcessTest, AnnouncementSparesFilesOfOthers) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("engram_spared_" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  const std::filesystem::path path = folder / "pid";
  for (const std::string& theirs : {std::string("precious"), std::string(), std::string(100'000, '1'),
                                    std::string("12 13\n"), std::string("12\n\n"), std::string("\n")}) {
    std::ofstream(path, std::ios::trunc) << theirs;
    AnnouncementFile file("listen.pid_file", path, LooksLikePidFile);
    EXPECT_THAT(file.Claim().ToString(), ::testing::HasSubstr("listen.pid_file = " + path.string() + ": exists"));
    EXPECT_EQ(Contents(path), theirs);
  }
  std::filesystem::remove(path);
  std::filesystem::create_symlink("/dev/null", path);
  EXPECT_FALSE(AnnouncementFile("listen.pid_file", path, LooksLikePidFile).Claim().ok());
  std::filesystem::remove(path);
  {
    AnnouncementFile file("listen.pid_file", path, LooksLikePidFile);
    EXPECT_TRUE(file.Claim().ok());
    EXPECT_TRUE(file.Write("12\n").ok());
    std::ofstream(path, std::ios::trunc) << "13\n";  // another server's by now
  }
  EXPECT_EQ(Contents(path), "13\n");
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
