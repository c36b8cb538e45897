// What is read off a request before it is decoded: literal bytes, then agreement with Protobuf's parser.

#include "server/wire_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "tests/unit/server/tiny_model.h"

namespace engram {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// In slices of a few bytes, as messages arrive.
WireScan ScanOf(const std::string& bytes) {
  google::protobuf::io::ArrayInputStream in(bytes.data(), static_cast<int>(bytes.size()), 3);
  return ScanClientMessage(in);
}

std::string Repeat(const std::string& bytes, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += bytes;
  return all;
}

TEST(WireScan, CountsEmptySegments) {
  const WireScan scan =
      ScanOf("\x12\x0a\x12" + std::string(1, '\0') + std::string("\x08\x4d\x12\x00\x12\x00\x12\x00", 8));
  EXPECT_TRUE(scan.well_formed);
  EXPECT_TRUE(scan.is_step);
  EXPECT_EQ(scan.step_id, 77u);
  EXPECT_EQ(scan.segments, 4u);
  EXPECT_EQ(scan.unknown_fields, 0u);
}

TEST(WireScan, AStepInPiecesIsOneStepAndTheLastKindCounts) {
  const std::string step("\x12\x04\x08\x05\x12\x00", 6);
  EXPECT_EQ(ScanOf(step + step).segments, 2u);
  const std::string hello("\x0a\x00", 2);
  EXPECT_FALSE(ScanOf(step + hello).is_step);
  EXPECT_EQ(ScanOf(step + hello).segments, 0u);
  EXPECT_EQ(ScanOf(step + hello + step).segments, 1u);
}

TEST(WireScan, CountsUnknownFieldsAtAnyDepth) {
  const std::string unknown("\x78\x01", 2);                                 // field 15
  const std::string of_state = "\x32\x02" + unknown;                        // a Segment
  const std::string of_segment = "\x12\x06" + of_state + unknown;           // a StepRequest
  const std::string message = "\x12\x0a" + of_segment + unknown + unknown;  // and two of the message's own
  const WireScan scan = ScanOf(message);
  EXPECT_TRUE(scan.well_formed);
  EXPECT_EQ(scan.segments, 1u);
  EXPECT_EQ(scan.unknown_fields, 4u);
  EXPECT_EQ(ScanOf(std::string("\x12\x02\x10\x01", 4)).unknown_fields, 1u) << "`segments` as a number";
}

TEST(WireScan, KnowsSegmentsAndPlaces) {
  const std::string registration("\x22\x04\x08\x01\x18\x40", 6);
  EXPECT_TRUE(ScanOf(registration).well_formed);
  EXPECT_FALSE(ScanOf(registration).is_step);
  EXPECT_EQ(ScanOf(registration).unknown_fields, 0u);
  const std::string placed("\x12\x08\x08\x05\x52\x04\x08\x01\x10\x07", 10);
  EXPECT_EQ(ScanOf(placed).step_id, 5u);
  EXPECT_EQ(ScanOf(placed).unknown_fields, 0u);
  EXPECT_FALSE(ScanOf(placed + registration).is_step) << "the last kind counts";
  EXPECT_EQ(ScanOf("\x12\x04\x52\x02\x78\x01").unknown_fields, 1u) << "in a place";
  EXPECT_EQ(ScanOf("\x22\x02\x78\x01").unknown_fields, 1u) << "in a registration";
}

TEST(WireScan, RefusesWhatCannotBeDecoded) {
  EXPECT_TRUE(ScanOf("").well_formed);
  EXPECT_FALSE(ScanOf("\xff\xff\xff\xff").well_formed);
  EXPECT_FALSE(ScanOf("\x12\x03\x12\x7f\x01").well_formed) << "a segment longer than its step";
  EXPECT_FALSE(ScanOf("\x7b\x7c").well_formed) << "a group";
}

TEST(WireScan, ManyUnknownFieldsAreRefused) {
  v1::Limits limits;
  limits.set_segments_max(1);
  const std::string unknown("\x78\x01", 2);
  EXPECT_TRUE(CheckUnknownFields(ScanOf(Repeat(unknown, 32)), limits).ok());
  EXPECT_EQ(CheckUnknownFields(ScanOf(Repeat(unknown, 33)), limits),
            absl::InvalidArgumentError("the message has 33 fields that this server does not know: more than 32"));
}

TEST(WireScan, ReadsALookupRequest) {
  v1::LookupRequest request;
  request.mutable_hello()->set_client_id("someone");
  request.mutable_step()->set_step_id(9);
  for (int i = 0; i < 3; ++i) request.mutable_step()->add_segments()->add_token_ids(1u << 31);
  const std::string bytes = request.SerializeAsString();
  google::protobuf::io::ArrayInputStream in(bytes.data(), static_cast<int>(bytes.size()));
  const WireScan scan = ScanLookupRequest(in);
  EXPECT_TRUE(scan.well_formed && scan.is_step);
  EXPECT_EQ(scan.step_id, 9u);
  EXPECT_EQ(scan.segments, 3u);
}

// Bytes that are often messages: fields of every level, cut and mixed at random.
TEST(WireScan, AgreesWithTheParser) {
  constexpr uint64_t kSeed = 20261130;
  SCOPED_TRACE(absl::StrCat("seed ", kSeed));
  std::mt19937_64 random(kSeed);
  const std::string pieces[] = {std::string("\x12\x00", 2),         std::string("\x12\x04\x12\x00\x08\x07", 6),
                                std::string("\x0a\x00", 2),         std::string("\x1a\x02\x08\x01", 4),
                                std::string("\x08\x03", 2),         std::string("\x78\x01", 2),
                                std::string("\x12\x02\x12\x00", 4), std::string("\x2a\x03\x0a\x01\x05", 5)};
  int parsed = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string body;
    for (uint64_t n = random() % 6; n > 0; --n) body += pieces[random() % std::size(pieces)];
    const std::string bytes = absl::StrCat("\x12", std::string(1, static_cast<char>(body.size())), body,
                                           pieces[random() % std::size(pieces)]);
    v1::ClientMessage message;
    if (!message.ParseFromString(bytes)) continue;
    ++parsed;
    const WireScan scan = ScanOf(bytes);
    ASSERT_TRUE(scan.well_formed) << message.DebugString();
    ASSERT_EQ(scan.is_step, message.has_step()) << message.DebugString();
    ASSERT_EQ(scan.step_id, message.step().step_id()) << message.DebugString();
    ASSERT_EQ(scan.segments, static_cast<uint64_t>(message.step().segments_size())) << message.DebugString();
  }
  EXPECT_GT(parsed, 10000);
}

}  // namespace
}  // namespace engram
