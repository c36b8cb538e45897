#include "client/frame_reader.h"

#include <gtest/gtest.h>

#include "google/protobuf/io/zero_copy_stream_impl_lite.h"

namespace engram {
namespace {

using google::protobuf::io::ArrayInputStream;

v1::ServerMessage Frame() {
  v1::ServerMessage message;
  v1::StepReply& reply = *message.mutable_reply();
  reply.set_step_id(300);
  reply.set_layer(14);
  reply.set_token_begin(70000);
  reply.set_token_count(2);
  reply.set_rows(std::string(500, 'r') + "end");
  reply.add_hash_ids(uint64_t{1} << 40);
  reply.add_hash_ids(7);
  reply.set_last(true);
  reply.add_results()->set_message("a result");
  reply.set_code(-1);
  reply.set_message("words");
  return message;
}

// Blocks of 7 bytes: every field gets split somewhere.
absl::StatusOr<ServerFrame> Read(const std::string& bytes) {
  ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()), 7);
  return ReadServerFrame(stream, bytes.size());
}

TEST(FrameReaderTest, ReadsEverythingButTheRows) {
  v1::ServerMessage message = Frame();
  const std::string bytes = message.SerializeAsString();
  const absl::StatusOr<ServerFrame> frame = Read(bytes);
  ASSERT_TRUE(frame.ok()) << frame.status();
  EXPECT_EQ(frame->rows_size, 503u);
  EXPECT_EQ(bytes.substr(frame->rows_offset, frame->rows_size), message.reply().rows());
  message.mutable_reply()->clear_rows();
  EXPECT_EQ(frame->message.SerializeAsString(), message.SerializeAsString());
}

TEST(FrameReaderTest, TakesFieldsInAnyOrder) {
  // reply (field 2, 7 bytes): rows (field 5) = "abc" before step_id (field 1) = 9.
  const std::string bytes(
      "\x12\x07\x2a\x03"
      "abc\x08\x09",
      9);
  const absl::StatusOr<ServerFrame> frame = Read(bytes);
  ASSERT_TRUE(frame.ok()) << frame.status();
  EXPECT_EQ(frame->message.reply().step_id(), 9u);
  EXPECT_EQ(frame->rows_offset, 4u);
  EXPECT_EQ(frame->rows_size, 3u);
}

TEST(FrameReaderTest, ReadsOtherMessages) {
  v1::ServerMessage message;
  message.mutable_welcome()->mutable_model()->set_name("m");
  message.mutable_welcome()->set_steps_in_flight_max(3);
  const absl::StatusOr<ServerFrame> frame = Read(message.SerializeAsString());
  ASSERT_TRUE(frame.ok()) << frame.status();
  EXPECT_EQ(frame->message.SerializeAsString(), message.SerializeAsString());
}

TEST(FrameReaderTest, RefusesEveryTruncation) {
  const std::string bytes = Frame().SerializeAsString();
  for (size_t size = 1; size < bytes.size(); ++size) {
    const absl::StatusOr<ServerFrame> frame = Read(bytes.substr(0, size));
    EXPECT_EQ(frame.status().code(), absl::StatusCode::kInternal) << size;
  }
}

TEST(FrameReaderTest, SurvivesEveryFlippedByte) {
  const std::string bytes = Frame().SerializeAsString();
  size_t read = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (const int flip : {0x01, 0x80, 0xFF}) {
      std::string wrong = bytes;
      wrong[i] = static_cast<char>(wrong[i] ^ flip);
      const absl::StatusOr<ServerFrame> frame = Read(wrong);
      if (!frame.ok()) continue;
      ++read;
      EXPECT_LE(frame->rows_offset + frame->rows_size, wrong.size());
    }
  }
  EXPECT_GT(read, 500u) << "flips within the rows are no matter of the frame";
}

TEST(FrameReaderTest, CopiesAcrossBlocks) {
  const std::string bytes = "0123456789abcdefghij";
  ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()), 7);
  ASSERT_TRUE(stream.Skip(3));
  std::string out(12, ' ');
  ASSERT_TRUE(CopyBytes(stream, reinterpret_cast<uint8_t*>(out.data()), 5));
  ASSERT_TRUE(CopyBytes(stream, reinterpret_cast<uint8_t*>(out.data()) + 5, 7));
  EXPECT_EQ(out, "3456789abcde");
  EXPECT_FALSE(CopyBytes(stream, reinterpret_cast<uint8_t*>(out.data()), 6)) << "only 5 are left";
}

}  // namespace
}  // namespace engram
