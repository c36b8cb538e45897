// Which objects of shared memory a server takes, and what it does when one is cut short.

#include "server/mapped_segment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "tests/unit/server/segment_object.h"

namespace engram {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kBytes = 8192;
constexpr uint32_t kNobody = 65534;

SegmentRules Rules() { return {true, 1 << 20, 4, "/engram-test-", {}}; }

absl::Status Refusal(const std::string& name, uint64_t bytes = kBytes, const SegmentRules& rules = Rules()) {
  return MappedSegment::Open(name, bytes, rules).status();
}

#define EXPECT_REFUSED(status, status_code, part)                 \
  do {                                                            \
    const absl::Status refused = (status);                        \
    EXPECT_EQ(refused.code(), absl::StatusCode::status_code);     \
    EXPECT_THAT(std::string(refused.message()), HasSubstr(part)); \
  } while (false)

TEST(MappedSegment, WritesWhereItIsTold) {
  SegmentObject object(kBytes);
  const auto segment = MappedSegment::Open(object.name(), kBytes - 1, Rules());
  ASSERT_TRUE(segment.ok()) << segment.status();
  EXPECT_EQ((*segment)->bytes(), kBytes - 1);
  const std::string rows = "rows";
  ASSERT_TRUE((*segment)->Write(4095, {reinterpret_cast<const std::byte*>(rows.data()), rows.size()}).ok());
  EXPECT_EQ(object.Read(4094, 6), std::string("\0rows\0", 6));
}

// Around the size from which on caches are passed by, at every place within a cache line.
TEST(MappedSegment, WritesWholeFrames) {
  constexpr uint64_t kLarge = 300000;
  SegmentObject object(2 * kLarge);
  const auto segment = MappedSegment::Open(object.name(), 2 * kLarge, Rules());
  ASSERT_TRUE(segment.ok()) << segment.status();
  std::string rows(kLarge + 128, '\0');
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<char>(i * 0x9E3779B97F4A7C15u >> 56);
  for (uint64_t offset = 0; offset < 66; ++offset) {
    for (const uint64_t bytes : {uint64_t{262143}, uint64_t{262144}, kLarge + offset}) {
      object.Fill('#');
      const auto* data = reinterpret_cast<const std::byte*>(rows.data() + (offset * 7) % 61);
      ASSERT_TRUE((*segment)->Write(offset, {data, bytes}).ok());
      ASSERT_EQ(object.Read(offset, bytes), rows.substr((offset * 7) % 61, bytes)) << offset << ", " << bytes;
      ASSERT_EQ(object.Read(0, offset), std::string(offset, '#'));
      ASSERT_EQ(object.Read(offset + bytes, 100), std::string(100, '#'));
    }
  }
}

TEST(MappedSegment, OutlivesItsName) {
  SegmentObject object(kBytes);
  const auto segment = MappedSegment::Open(object.name(), kBytes, Rules());
  ASSERT_TRUE(segment.ok());
  shm_unlink(object.name().c_str());
  const std::byte one{1};
  EXPECT_TRUE((*segment)->Write(kBytes - 1, {&one, 1}).ok());
  EXPECT_EQ(object.data()[kBytes - 1], 1);
  EXPECT_REFUSED(Refusal(object.name()), kNotFound, "on the server's host");
}

TEST(MappedSegment, RefusesNames) {
  for (const char* name : {"", "/", "engram-test-1", "/other-1", "/engram-test-"}) {
    EXPECT_REFUSED(Refusal(name), kInvalidArgument, "must begin with \"/engram-test-\" (shared_memory.name_prefix)");
  }
  EXPECT_REFUSED(Refusal("/engram-test-/../x"), kInvalidArgument, "must have one slash, in front");
  EXPECT_REFUSED(Refusal(std::string("/engram-test-1\0x", 16)), kInvalidArgument, "no NUL");
  EXPECT_REFUSED(Refusal("/engram-test-" + std::string(300, 'x')), kInvalidArgument, "name: 313 bytes: must have");
  EXPECT_REFUSED(Refusal("/engram-test-nobody-made-this"), kNotFound, "name = \"/engram-test-nobody-made-this\"");
}

TEST(MappedSegment, RefusesSizes) {
  SegmentObject object(kBytes);
  EXPECT_REFUSED(Refusal(object.name(), 0), kInvalidArgument, "bytes = 0: must be at least 1");
  EXPECT_REFUSED(Refusal(object.name(), kBytes + 1), kInvalidArgument,
                 "bytes = 8193: \"" + object.name() + "\" has 8192");
  EXPECT_REFUSED(Refusal(object.name(), (1 << 20) + 1), kResourceExhausted,
                 "bytes = 1048577: at most 1048576 (shared_memory.segment_bytes_max)");
}

TEST(MappedSegment, RefusesWhatOthersCanReach) {
  for (const mode_t mode : {0604, 0602, 0601, 0666}) {
    SegmentObject object(kBytes, mode);
    EXPECT_REFUSED(Refusal(object.name()), kPermissionDenied, "its mode gives others");
  }
  SegmentObject group(kBytes, 0660);
  EXPECT_TRUE(Refusal(group.name()).ok());
}

TEST(MappedSegment, RefusesWhatIsNoMemory) {
  SegmentObject object(kBytes);
  const std::string link = UniqueName();
  ASSERT_EQ(symlink(("/dev/shm" + object.name()).c_str(), ("/dev/shm" + link).c_str()), 0);
  EXPECT_REFUSED(Refusal(link), kPermissionDenied, "must not be a symbolic link");
  shm_unlink(link.c_str());

  const std::string pipe = UniqueName();
  ASSERT_EQ(mkfifo(("/dev/shm" + pipe).c_str(), 0600), 0);
  EXPECT_REFUSED(Refusal(pipe), kInvalidArgument, "must be a regular object");
  shm_unlink(pipe.c_str());

  const std::string folder = "/dev/shm" + UniqueName();
  ASSERT_EQ(mkdir(folder.c_str(), 0700), 0);
  EXPECT_REFUSED(Refusal(folder.substr(8)), kInvalidArgument, "name = \"/engram-test-");
  rmdir(folder.c_str());
}

TEST(MappedSegment, TakesTheUsersThatTheConfigurationLists) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  SegmentObject object(kBytes);
  ASSERT_EQ(fchown(object.file(), kNobody, static_cast<gid_t>(-1)), 0);
  SegmentRules rules = Rules();
  rules.owner_uids = {7};
  EXPECT_REFUSED(Refusal(object.name(), kBytes, rules), kPermissionDenied,
                 "owned by user 65534: must be the server's user 0 or one of shared_memory.owner_uids (7)");
  rules.owner_uids = {7, kNobody};
  EXPECT_TRUE(Refusal(object.name(), kBytes, rules).ok());
}

TEST(MappedSegment, CutShortItLosesWhatIsBehindItsEndAlone) {
  SegmentObject object(kBytes);
  const auto segment = MappedSegment::Open(object.name(), kBytes, Rules());
  ASSERT_TRUE(segment.ok());
  object.Resize(4096);
  const std::string rows(100, 'r');
  const absl::Span<const std::byte> bytes(reinterpret_cast<const std::byte*>(rows.data()), rows.size());
  for (int i = 0; i < 2; ++i) {
    EXPECT_REFUSED((*segment)->Write(4000, bytes), kDataLoss,
                   "segment \"" + object.name() + "\" could not take 100 bytes at offset 4000");
    EXPECT_TRUE((*segment)->Write(3000, bytes).ok());
  }
  EXPECT_EQ(object.Read(3000, 100), rows);
  object.Resize(kBytes);
  EXPECT_TRUE((*segment)->Write(4000, bytes).ok());
  EXPECT_EQ(object.Read(4000, 100), rows);
}

}  // namespace
}  // namespace engram
