#include "client/frame_reader.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "absl/status/status.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"

namespace engram {
namespace {

using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;
using google::protobuf::io::StringOutputStream;

// Wire types of the encoding.
enum WireType : uint32_t { kVarint = 0, kFixed64 = 1, kDelimited = 2, kFixed32 = 5 };

constexpr uint32_t DelimitedTag(int field) { return static_cast<uint32_t>(field) << 3 | kDelimited; }
constexpr uint32_t kReplyTag = DelimitedTag(v1::ServerMessage::kReplyFieldNumber);
constexpr uint32_t kRowsTag = DelimitedTag(v1::StepReply::kRowsFieldNumber);

class Walker {
 public:
  Walker(google::protobuf::io::ZeroCopyInputStream& input, uint64_t message_bytes)
      : input_(&input), end_(message_bytes) {}

  // message -> `rest`: every field but reply; reply -> `reply`: every field but rows.
  bool Walk(std::string& rest, std::string& reply, ServerFrame& frame, bool& has_reply) {
    StringOutputStream rest_stream(&rest);
    CodedOutputStream rest_out(&rest_stream);
    while (Position() < end_) {
      const uint32_t tag = input_.ReadTag();
      if (tag == 0) return false;
      has_reply = has_reply || tag == kReplyTag;
      if (tag == kReplyTag ? !WalkReply(reply, frame) : !CopyField(tag, end_, rest_out)) return false;
    }
    return Position() == end_;
  }

 private:
  uint64_t Position() const { return static_cast<uint64_t>(input_.CurrentPosition()); }

  // A length that stays within `end`.
  bool ReadLength(uint64_t end, uint32_t& length) {
    return input_.ReadVarint32(&length) && Position() <= end && length <= end - Position();
  }

  bool WalkReply(std::string& reply, ServerFrame& frame) {
    uint32_t length = 0;
    if (!ReadLength(end_, length)) return false;
    const uint64_t end = Position() + length;
    StringOutputStream stream(&reply);
    CodedOutputStream out(&stream);
    while (Position() < end) {
      const uint32_t tag = input_.ReadTag();
      if (tag == 0) return false;
      if (tag == kRowsTag ? !SkipRows(end, frame) : !CopyField(tag, end, out)) return false;
    }
    return Position() == end;
  }

  bool SkipRows(uint64_t end, ServerFrame& frame) {
    uint32_t length = 0;
    if (frame.rows_size != 0 || !ReadLength(end, length)) return false;
    frame.rows_offset = Position();
    frame.rows_size = length;
    return input_.Skip(static_cast<int>(length));
  }

  bool CopyField(uint32_t tag, uint64_t end, CodedOutputStream& out) {
    out.WriteTag(tag);
    switch (tag & 7) {
      case kVarint: {
        uint64_t value = 0;
        if (!input_.ReadVarint64(&value)) return false;
        out.WriteVarint64(value);
        return true;
      }
      case kFixed64: {
        uint64_t value = 0;
        if (!input_.ReadLittleEndian64(&value)) return false;
        out.WriteLittleEndian64(value);
        return true;
      }
      case kFixed32: {
        uint32_t value = 0;
        if (!input_.ReadLittleEndian32(&value)) return false;
        out.WriteLittleEndian32(value);
        return true;
      }
      case kDelimited:
        return CopyDelimited(end, out);
      default:
        return false;
    }
  }

  bool CopyDelimited(uint64_t end, CodedOutputStream& out) {
    uint32_t length = 0;
    std::string bytes;
    if (!ReadLength(end, length) || !input_.ReadString(&bytes, static_cast<int>(length))) return false;
    out.WriteVarint32(length);
    out.WriteString(bytes);
    return true;
  }

  CodedInputStream input_;
  const uint64_t end_;
};

}  // namespace

absl::StatusOr<ServerFrame> ReadServerFrame(google::protobuf::io::ZeroCopyInputStream& input, uint64_t message_bytes) {
  const absl::Status undecodable = absl::InternalError("the server sent a message that is no engram.v1.ServerMessage");
  ServerFrame frame;
  std::string rest;
  std::string reply;
  bool has_reply = false;
  if (!Walker(input, message_bytes).Walk(rest, reply, frame, has_reply)) return undecodable;
  if (!frame.message.ParseFromString(rest)) return undecodable;
  if (has_reply && !frame.message.mutable_reply()->ParseFromString(reply)) return undecodable;
  return frame;
}

bool CopyBytes(google::protobuf::io::ZeroCopyInputStream& input, uint8_t* out, uint64_t size) {
  const void* data = nullptr;
  int available = 0;
  while (size > 0) {
    if (!input.Next(&data, &available)) return false;
    const uint64_t taken = std::min<uint64_t>(size, static_cast<uint64_t>(available));
    std::memcpy(out, data, taken);
    out += taken;
    size -= taken;
    if (taken < static_cast<uint64_t>(available)) input.BackUp(available - static_cast<int>(taken));
  }
  return true;
}

}  // namespace engram
