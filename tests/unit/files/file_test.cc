#include "model/files/file.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/files/overwrite.h"
#include "tests/unit/files/temp_folder.h"

namespace engram {
namespace {

using testing::HasSubstr;

TEST(File, ReadsExactly) {
  const TempFolder folder;
  const auto file = File::Open(folder.Write("a", "0123456789"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->size(), 10u);
  std::string out(4, '\0');
  ASSERT_TRUE(file->ReadExactly(6, out.data(), 4).ok());
  EXPECT_EQ(out, "6789");
  EXPECT_TRUE(file->ReadExactly(10, out.data(), 0).ok());
}

TEST(File, SaysWhereItEnds) {
  const TempFolder folder;
  const auto file = File::Open(folder.Write("a", "0123456789"));
  ASSERT_TRUE(file.ok());
  std::string out(4, '\0');
  const absl::Status status = file->ReadExactly(7, out.data(), 4);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("ends at offset 10, but 4 bytes are needed from offset 7"));
  EXPECT_EQ(file->ReadExactly(UINT64_MAX - 1, out.data(), 4).code(), absl::StatusCode::kDataLoss);
}

TEST(File, RefusesWhatIsNoRegularFile) {
  const TempFolder folder;
  EXPECT_EQ(File::Open(folder.Path("none")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(File::Open(folder.path()).status().code(), absl::StatusCode::kInvalidArgument);
  ASSERT_EQ(::mkfifo(folder.Path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(File::Open(folder.Path("pipe")).status().code(), absl::StatusCode::kInvalidArgument);
  std::filesystem::create_symlink("ring", folder.Path("ring"));
  EXPECT_EQ(File::Open(folder.Path("ring")).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(File::Open(folder.Path(std::string(300, 'x'))).status().code(), absl::StatusCode::kInvalidArgument);
}

// What may pass by itself is UNAVAILABLE: whoever started the program starts it again.
TEST(SystemErrorTest, SaysWhetherToTryAgain) {
  const auto code = [](int error) { return SystemError(error, "path", "open").code(); };
  for (const int error : {ENOENT, ENOTDIR}) EXPECT_EQ(code(error), absl::StatusCode::kNotFound) << error;
  for (const int error : {EACCES, EPERM}) EXPECT_EQ(code(error), absl::StatusCode::kPermissionDenied) << error;
  for (const int error : {ELOOP, ENAMETOOLONG, EISDIR, EINVAL, ENXIO, EOVERFLOW}) {
    EXPECT_EQ(code(error), absl::StatusCode::kInvalidArgument) << error;
  }
  for (const int error : {EIO, EAGAIN, EINTR, EMFILE, ENFILE, ENOMEM, ESTALE, ETIMEDOUT}) {
    EXPECT_EQ(code(error), absl::StatusCode::kUnavailable) << error;
  }
  EXPECT_EQ(SystemError(ELOOP, "path", "open").message(), "path: cannot open: Too many levels of symbolic links");
}

TEST(File, NoticesTruncationAndWriting) {
  const TempFolder folder;
  const std::string path = folder.Write("a", "0123456789");
  auto file = File::Open(path);
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(file->CheckUnchanged().ok());
  const auto modified = std::filesystem::last_write_time(path);
  std::filesystem::last_write_time(path, modified + std::chrono::milliseconds(1));
  EXPECT_EQ(file->CheckUnchanged().code(), absl::StatusCode::kDataLoss);
  std::filesystem::last_write_time(path, modified);
  EXPECT_EQ(file->CheckUnchanged().code(), absl::StatusCode::kDataLoss);
  std::filesystem::resize_file(path, 9);
  EXPECT_THAT(std::string(file->CheckUnchanged().message()), HasSubstr("10 bytes when opened, 9 now"));
}

TEST(File, NoticesAWriteWhoseTimeWasSetBack) {
  const TempFolder folder;
  const std::string path = folder.Write("a", "0123456789");
  auto file = File::Open(path);
  ASSERT_TRUE(file.ok());
  OverwriteKeepingTime(path, "012x");
  for (int i = 0; i < 2; ++i) {  // and goes on saying so
    const absl::Status status = file->CheckUnchanged();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(status.message()), HasSubstr("was written to while in use"));
    ASSERT_EQ(::chmod(path.c_str(), 0700), 0);  // which excuses nothing
  }
}

TEST(File, TakesOtherLinksModeAndNameForNoChange) {
  const TempFolder folder;
  const std::string path = folder.Write("a", "0123456789");
  auto file = File::Open(path);
  ASSERT_TRUE(file.ok());
  ASSERT_EQ(::chmod(path.c_str(), 0700), 0);
  EXPECT_EQ(file->CheckUnchanged(), absl::OkStatus());
  std::filesystem::create_hard_link(path, folder.Path("link"));
  EXPECT_EQ(file->CheckUnchanged(), absl::OkStatus());
  std::filesystem::rename(folder.Write("new", "9876543210"), path);  // over it
  EXPECT_EQ(file->CheckUnchanged(), absl::OkStatus());
  OverwriteKeepingTime(folder.Path("link"), "x");  // no earlier change excuses a later write
  EXPECT_EQ(file->CheckUnchanged().code(), absl::StatusCode::kDataLoss);
  auto unlinked = File::Open(path);
  ASSERT_TRUE(unlinked.ok());
  std::filesystem::remove(path);
  EXPECT_EQ(unlinked->CheckUnchanged(), absl::OkStatus());
}

TEST(File, MovesItsDescriptor) {
  const TempFolder folder;
  auto first = File::Open(folder.Write("a", "a"));
  auto second = File::Open(folder.Write("b", "b"));
  ASSERT_TRUE(first.ok() && second.ok());
  *first = *std::move(second);
  char byte = 0;
  ASSERT_TRUE(first->ReadExactly(0, &byte, 1).ok());
  EXPECT_EQ(byte, 'b');
  EXPECT_EQ(first->path(), folder.Path("b"));
}

TEST(ReadWholeFile, IsBounded) {
  const TempFolder folder;
  const std::string path = folder.Write("a", "0123456789");
  EXPECT_EQ(*ReadWholeFile(path, 10), "0123456789");
  EXPECT_EQ(ReadWholeFile(path, 9).status().code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace engram
