// A segment's memory and the places in it.

#include "client/client_segment.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

namespace engram {
namespace {

using ::testing::HasSubstr;

const SharedMemoryOptions kOptions{.bytes = 8192, .name_prefix = "/engram-test-"};

std::shared_ptr<ClientSegment> Make(uint64_t bytes) {
  SharedMemoryOptions options = kOptions;
  options.bytes = bytes;
  const auto segment = ClientSegment::Create(options);
  EXPECT_TRUE(segment.ok()) << segment.status();
  return *segment;
}

bool Exists(const std::string& name) {
  const int file = shm_open(name.c_str(), O_RDWR, 0);
  if (file >= 0) close(file);
  return file >= 0;
}

TEST(ClientSegment, IsForThisUserAloneAndGoesWithItsName) {
  auto segment = Make(8192);
  const std::string name = segment->name();
  EXPECT_THAT(name, HasSubstr("/engram-test-"));
  EXPECT_EQ(name.size(), std::strlen("/engram-test-") + 32);
  struct stat object {};
  ASSERT_EQ(stat(("/dev/shm" + name).c_str(), &object), 0);
  EXPECT_EQ(object.st_mode & 0777, 0600u);
  EXPECT_EQ(object.st_size, 8192);
  EXPECT_GE(object.st_blocks, 8192 / 512) << "its memory is there";
  EXPECT_NE(Make(8192)->name(), name);

  segment->Unlink();
  EXPECT_FALSE(Exists(name));
  const auto place = segment->Take(10);
  std::memset(place->data(), 7, 10);

  const std::string other = Make(1)->name();
  EXPECT_FALSE(Exists(other)) << "gone with its last reference";
}

TEST(ClientSegment, RefusesWhatTheSystemDoesNotGive) {
  SharedMemoryOptions options = kOptions;
  options.bytes = 0;
  EXPECT_EQ(ClientSegment::Create(options).status().code(), absl::StatusCode::kInvalidArgument);
  options.bytes = uint64_t{1} << 50;
  const absl::Status status = ClientSegment::Create(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("of 1125899906842624 bytes"));
  options = kOptions;
  options.name_prefix = "/no/such-";
  EXPECT_EQ(ClientSegment::Create(options).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(ClientSegment, PlacesComeFromTheFrontAndGrowTogetherAgain) {
  const auto segment = Make(1024);
  auto first = segment->Take(1);
  auto second = segment->Take(128);
  auto third = segment->Take(64);
  EXPECT_EQ(first->offset(), 0u);
  EXPECT_EQ(first->bytes(), 1u);
  EXPECT_EQ(second->offset(), 64u);
  EXPECT_EQ(third->offset(), 192u);
  EXPECT_EQ(segment->free_bytes(), 768u);
  EXPECT_EQ(segment->Take(769), nullptr);
  EXPECT_EQ(segment->Take(~uint64_t{0}), nullptr);
  first.reset();
  EXPECT_EQ(segment->Take(65)->offset(), 256u);
  second.reset();
  EXPECT_EQ(segment->Take(192)->offset(), 0u);
  third.reset();
  EXPECT_EQ(segment->Take(1024)->offset(), 0u);
  EXPECT_EQ(segment->free_bytes(), 1024u);
}

TEST(ClientSegment, PlacesNeverOverlap) {
  const auto segment = Make(1 << 16);
  std::mt19937_64 random(1);
  std::vector<std::shared_ptr<SegmentPlace>> places;
  for (int i = 0; i < 3000; ++i) {
    if (!places.empty() && random() % 2 == 0) {
      std::swap(places[random() % places.size()], places.back());
      places.pop_back();
      continue;
    }
    auto place = segment->Take(1 + random() % 5000);
    if (place == nullptr) continue;
    ASSERT_LE(place->offset() + place->bytes(), segment->bytes());
    for (const auto& other : places) {
      ASSERT_TRUE(place->offset() >= other->offset() + other->bytes() ||
                  other->offset() >= place->offset() + place->bytes());
    }
    places.push_back(std::move(place));
  }
  places.clear();
  EXPECT_EQ(segment->free_bytes(), segment->bytes());
}

TEST(ClientSegment, APlaceKeepsItsMemory) {
  auto segment = Make(4096);
  const auto place = segment->Take(4096);
  segment.reset();
  std::memset(place->data(), 1, 4096);
  EXPECT_EQ(place->data()[4095], 1);
}

}  // namespace
}  // namespace engram
