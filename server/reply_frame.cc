#include "server/reply_frame.h"

#include <bit>
#include <cstring>

#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "server/frame_plan.h"

namespace engram {
namespace {

// hash_ids travel as the arena holds them.
static_assert(std::endian::native == std::endian::little);

constexpr uint32_t kLengthDelimited = 2;

uint32_t TagOf(int field_number) { return (static_cast<uint32_t>(field_number) << 3) | kLengthDelimited; }

std::string CutMessage(absl::string_view message) {
  if (message.size() <= kFrameMessageBytesMax) return std::string(message);
  size_t end = kFrameMessageBytesMax;
  // Protobuf strings are UTF-8: step back over continuation bytes.
  while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xC0) == 0x80) --end;
  return std::string(message.substr(0, end));
}

}  // namespace

void SetOutcome(const absl::Status& status, v1::StepReply& reply) {
  reply.set_code(static_cast<int>(status.code()));
  reply.set_message(CutMessage(status.message()));
}

void ForgetRows(v1::StepReply& reply) {
  reply.clear_layer();
  reply.clear_token_begin();
  reply.clear_token_count();
  reply.clear_place_offset();
  reply.clear_place_bytes();
  reply.clear_row_index();
}

v1::StepReply FailedReply(uint64_t step_id, uint64_t table_version, const absl::Status& status) {
  v1::StepReply reply;
  reply.set_step_id(step_id);
  reply.set_last(true);
  reply.set_table_version(table_version);
  SetOutcome(status, reply);
  return reply;
}

std::string EncodeUpToPayload(const ReplyFrame& frame, int field) {
  using google::protobuf::io::CodedOutputStream;
  const int payload_field = frame.hash_ids ? v1::StepReply::kHashIdsFieldNumber : v1::StepReply::kRowsFieldNumber;
  const auto payload_bytes = static_cast<uint32_t>(frame.payload.size());
  size_t reply_bytes = frame.head.ByteSizeLong() + payload_bytes;
  if (payload_bytes > 0) {
    reply_bytes +=
        CodedOutputStream::VarintSize32(TagOf(payload_field)) + CodedOutputStream::VarintSize32(payload_bytes);
  }
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  CodedOutputStream out(&stream);
  out.WriteTag(TagOf(field));
  out.WriteVarint32(static_cast<uint32_t>(reply_bytes));
  frame.head.SerializeWithCachedSizes(&out);
  if (payload_bytes > 0) {
    out.WriteTag(TagOf(payload_field));
    out.WriteVarint32(payload_bytes);
  }
  out.Trim();
  return bytes;
}

v1::StepReply CopyToMessage(const ReplyFrame& frame) {
  v1::StepReply reply = frame.head;
  if (frame.payload.size() == 0) return reply;
  if (!frame.hash_ids) {
    reply.set_rows(frame.payload.data(), frame.payload.size());
    return reply;
  }
  const int count = static_cast<int>(frame.payload.size() / sizeof(uint64_t));
  reply.mutable_hash_ids()->Resize(count, 0);
  std::memcpy(reply.mutable_hash_ids()->mutable_data(), frame.payload.data(), frame.payload.size());
  return reply;
}

}  // namespace engram
