#include "server/wire_scan.h"

#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/wire_format.h"
#include "google/protobuf/wire_format_lite.h"

namespace engram {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormat;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

constexpr uint64_t kUnknownFieldsOfSegment = 16;

// Walks one message by the descriptors of the protocol.
class Scanner {
 public:
  Scanner(CodedInputStream& in, WireScan& scan) : in_(in), scan_(scan) {}

  // The fields up to the end of the bytes, or of the limit that is set. False where they are malformed.
  bool Message(const Descriptor& type) {
    while (const uint32_t tag = in_.ReadTag()) {
      const FieldDescriptor* field = FieldOf(type, tag);
      if (field == nullptr) ++scan_.unknown_fields;
      if (!(field == nullptr ? Skip(tag) : Field(*field, tag))) return false;
    }
    return in_.ConsumedEntireMessage();
  }

 private:
  // Null where the parser would keep it as unknown.
  static const FieldDescriptor* FieldOf(const Descriptor& type, uint32_t tag) {
    const FieldDescriptor* field = type.FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag));
    if (field == nullptr) return nullptr;
    const auto wire = WireFormatLite::GetTagWireType(tag);
    const bool packed = field->is_packable() && wire == WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
    return packed || wire == WireFormat::WireTypeForFieldType(field->type()) ? field : nullptr;
  }

  bool Skip(uint32_t tag) {
    const auto wire = WireFormatLite::GetTagWireType(tag);
    const bool group = wire == WireFormatLite::WIRETYPE_START_GROUP || wire == WireFormatLite::WIRETYPE_END_GROUP;
    return !group && WireFormatLite::SkipField(&in_, tag);
  }

  bool Field(const FieldDescriptor& field, uint32_t tag) {
    if (field.containing_oneof() != nullptr && field.containing_type() == v1::ClientMessage::descriptor()) {
      Kind(field.number() == v1::ClientMessage::kStepFieldNumber);
    }
    if (field.containing_type() == v1::StepRequest::descriptor()) {
      if (field.number() == v1::StepRequest::kStepIdFieldNumber) return in_.ReadVarint64(&scan_.step_id);
      if (field.number() == v1::StepRequest::kSegmentsFieldNumber) ++scan_.segments;
    }
    return field.message_type() == nullptr ? Skip(tag) : Submessage(*field.message_type());
  }

  // The last kind of a message counts; the same one again is merged into what is there.
  void Kind(bool is_step) {
    if (!is_step) scan_.step_id = scan_.segments = 0;
    scan_.is_step = is_step;
  }

  bool Submessage(const Descriptor& type) {
    int size = 0;
    if (!in_.ReadVarintSizeAsInt(&size)) return false;
    const CodedInputStream::Limit outer = in_.PushLimit(size);
    const bool good = in_.BytesUntilLimit() == size && Message(type);
    in_.PopLimit(outer);
    return good;
  }

  CodedInputStream& in_;
  WireScan& scan_;
};

WireScan Scan(google::protobuf::io::ZeroCopyInputStream& bytes, const Descriptor& type, bool is_step) {
  WireScan scan;
  scan.is_step = is_step;
  CodedInputStream in(&bytes);
  scan.well_formed = Scanner(in, scan).Message(type);
  return scan;
}

}  // namespace

WireScan ScanClientMessage(google::protobuf::io::ZeroCopyInputStream& bytes) {
  return Scan(bytes, *v1::ClientMessage::descriptor(), false);
}

WireScan ScanLookupRequest(google::protobuf::io::ZeroCopyInputStream& bytes) {
  return Scan(bytes, *v1::LookupRequest::descriptor(), true);
}

absl::Status CheckUnknownFields(const WireScan& scan, const v1::Limits& limits) {
  const uint64_t max = kUnknownFieldsOfSegment * (uint64_t{limits.segments_max()} + 1);
  if (scan.unknown_fields <= max) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the message has ", scan.unknown_fields, " fields that this server does not know: more than ", max));
}

}  // namespace engram
