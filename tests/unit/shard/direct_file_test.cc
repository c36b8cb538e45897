// Reads past the page cache: the bytes that the file has, at whatever offset, and its errors.

#include "shard/direct_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "shard/anonymous_memory.h"
#include "tests/unit/shard/synthetic_tables.h"

namespace engram {
namespace {

using ::testing::HasSubstr;

std::string Content(size_t bytes) {
  std::string content;
  for (size_t at = 0; at < bytes; ++at) content += static_cast<char>(SyntheticByte(0, at / 4096, at % 4096));
  return content;
}

// `name` in `folder` with `content`.
std::string Write(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

absl::StatusOr<std::string> Read(const DirectFile& file, uint64_t offset, uint64_t bytes) {
  const absl::StatusOr<AnonymousMemory> room = AnonymousMemory::Allocate(file.RoomFor(bytes), "a test");
  if (!room.ok()) return room.status();
  const absl::StatusOr<std::byte*> data = file.Read(offset, bytes, room->data());
  if (!data.ok()) return data.status();
  EXPECT_GE(*data, room->data());
  EXPECT_LE(*data + bytes, room->data() + room->size());
  return std::string(reinterpret_cast<const char*>(*data), bytes);
}

// Offsets and lengths on, before and behind the borders of sectors, to the file's last byte, which is in none.
void ExpectEveryPiece(const std::string& path, const std::string& content, bool direct) {
  const absl::StatusOr<File> file = File::Open(path);
  ASSERT_EQ(file.status(), absl::OkStatus());
  const DirectFile reader(*file, direct);
  ASSERT_EQ(Read(reader, 0, 4096).status(), absl::OkStatus());
  const int refusal = reader.refusal();
  for (const uint64_t offset : {0, 1, 511, 512, 4095, 4096, 4097, 8192, 12287, 12288}) {
    for (const uint64_t bytes : {0, 1, 511, 4095, 4096, 4097, 8193, 1 << 20}) {
      const uint64_t count = std::min<uint64_t>(bytes, content.size() - offset);
      const absl::StatusOr<std::string> data = Read(reader, offset, count);
      ASSERT_EQ(data.status(), absl::OkStatus());
      ASSERT_TRUE(*data == content.substr(offset, count)) << count << " bytes from " << offset;
    }
  }
  EXPECT_EQ(reader.refusal(), refusal) << "the end of the file was taken for a refusal";
}

TEST(DirectFileTest, ReadsEveryPieceOfAFile) {
  const TempFolder folder;
  for (const size_t size : {12289, 16384, 20000, 20480 + 511, 3 << 20}) {
    const std::string content = Content(size);
    const std::string path = Write(folder / "file", content);
    ExpectEveryPiece(path, content, true);
    ExpectEveryPiece(path, content, false);
  }
}

TEST(DirectFileTest, ReadsLiterally) {
  const TempFolder folder;
  const absl::StatusOr<File> file = File::Open(Write(folder / "file", std::string(5000, 'a') + "engram"));
  ASSERT_EQ(file.status(), absl::OkStatus());
  EXPECT_EQ(*Read(DirectFile(*file, true), 4999, 7), "aengram");
}

TEST(DirectFileTest, ReadsFromMemory) {
  const std::string path = "/dev/shm/engram_direct_file_" + std::to_string(getpid());
  const std::string content = Content(100000);
  if (!std::filesystem::is_directory("/dev/shm")) GTEST_SKIP() << "no /dev/shm";
  Write(path, content);
  ExpectEveryPiece(path, content, true);
  std::filesystem::remove(path);
}

// The kernel's files have no O_DIRECT.
TEST(DirectFileTest, ReadsThroughThePageCacheWhereTheFileSystemRefuses) {
  const std::string path = "/sys/kernel/btf/vmlinux";
  std::ifstream in(path, std::ios::binary);
  if (!in) GTEST_SKIP() << "no " << path;
  const std::string content((std::istreambuf_iterator<char>(in)), {});
  ASSERT_GT(content.size(), 12288u);
  ExpectEveryPiece(path, content, true);
  const absl::StatusOr<File> file = File::Open(path);
  ASSERT_EQ(file.status(), absl::OkStatus());
  EXPECT_EQ(DirectFile(*file, true).refusal(), EINVAL);
  EXPECT_EQ(DirectFile(*file, false).refusal(), 0);
}

// As of a disk with larger sectors: refused when it is read, not when it is opened. Memory that is not aligned is
// refused just so, where the file system insists on anything.
TEST(DirectFileTest, ReadsThroughThePageCacheWhatIsRefusedLater) {
  const TempFolder folder;
  const std::string content = Content(20000);
  const absl::StatusOr<File> file = File::Open(Write(folder / "file", content));
  ASSERT_EQ(file.status(), absl::OkStatus());
  const DirectFile reader(*file, true);
  const absl::StatusOr<AnonymousMemory> room = AnonymousMemory::Allocate(3 + reader.RoomFor(9000), "a test");
  ASSERT_EQ(room.status(), absl::OkStatus());
  for (int i = 0; i < 2; ++i) {
    const absl::StatusOr<std::byte*> data = reader.Read(777, 9000, room->data() + 3);
    ASSERT_EQ(data.status(), absl::OkStatus());
    EXPECT_EQ(std::memcmp(*data, content.data() + 777, 9000), 0);
  }
}

TEST(DirectFileTest, SaysWhereTheFileEnds) {
  const TempFolder folder;
  const std::string path = Write(folder / "file", Content(20000));
  const absl::StatusOr<File> file = File::Open(path);
  ASSERT_EQ(file.status(), absl::OkStatus());
  const DirectFile reader(*file, true);
  for (const uint64_t end : {19999, 16384, 10000, 4096, 100, 0}) {
    std::filesystem::resize_file(path, end);
    const absl::Status status = Read(reader, 5000, 15000).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(status.message()), HasSubstr(path));
    EXPECT_THAT(std::string(status.message()), HasSubstr("ends at offset " + std::to_string(std::max(end, 5000ul))));
  }
}

TEST(DirectFileTest, ReadsTheFileThatWasOpenedWhateverItsPathNames) {
  const TempFolder folder;
  const std::string path = Write(folder / "file", std::string(5000, 'a'));
  const absl::StatusOr<File> file = File::Open(path);
  ASSERT_EQ(file.status(), absl::OkStatus());
  std::filesystem::rename(Write(folder / "other", std::string(5000, 'b')), path);
  EXPECT_EQ(*Read(DirectFile(*file, true), 1, 4000), std::string(4000, 'a'));
  std::filesystem::remove(path);
  EXPECT_EQ(*Read(DirectFile(*file, true), 1, 4000), std::string(4000, 'a'));
}

}  // namespace
}  // namespace engram
