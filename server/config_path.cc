// Single fields of the configuration by their path: SetByPath.

#include <cstdint>
#include <limits>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "google/protobuf/descriptor.h"
#include "server/config.h"

namespace engram {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

absl::Status Refuse(const std::string& assignment, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("\"", absl::CEscape(assignment), "\": ", what));
}

std::string FieldNames(const Descriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.field_count(); ++i) names.push_back(type.field(i)->name());
  return absl::StrJoin(names, ", ");
}

std::string EnumNames(const google::protobuf::EnumDescriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.value_count(); ++i) names.push_back(type.value(i)->name());
  return absl::StrJoin(names, ", ");
}

absl::Status SetNumber(Message& message, const FieldDescriptor& field, const std::string& assignment,
                       const std::string& value) {
  const bool narrow = field.cpp_type() == FieldDescriptor::CPPTYPE_UINT32;
  const uint64_t max = narrow ? std::numeric_limits<uint32_t>::max() : std::numeric_limits<uint64_t>::max();
  uint64_t number = 0;
  const bool digits = !value.empty() && value.find_first_not_of("0123456789") == std::string::npos;
  if (!digits || !absl::SimpleAtoi(value, &number) || number > max) {
    return Refuse(assignment, absl::StrCat("must be a decimal number in [0, ", max, "]"));
  }
  if (narrow) {
    message.GetReflection()->SetUInt32(&message, &field, static_cast<uint32_t>(number));
  } else {
    message.GetReflection()->SetUInt64(&message, &field, number);
  }
  return absl::OkStatus();
}

absl::Status SetField(Message& message, const FieldDescriptor& field, const std::string& assignment,
                      const std::string& value) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      message.GetReflection()->SetString(&message, &field, value);
      return absl::OkStatus();
    case FieldDescriptor::CPPTYPE_ENUM: {
      const auto* named = field.enum_type()->FindValueByName(value);
      if (named == nullptr) return Refuse(assignment, absl::StrCat("must be one of ", EnumNames(*field.enum_type())));
      message.GetReflection()->SetEnum(&message, &field, named);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_BOOL:
      if (value != "true" && value != "false") return Refuse(assignment, "must be true or false");
      message.GetReflection()->SetBool(&message, &field, value == "true");
      return absl::OkStatus();
    case FieldDescriptor::CPPTYPE_UINT32:
    case FieldDescriptor::CPPTYPE_UINT64:
      return SetNumber(message, field, assignment, value);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return Refuse(assignment,
                    absl::StrCat("names a group: add one of its fields ", FieldNames(*field.message_type())));
    default:
      return Refuse(assignment, absl::StrCat("a field of type ", field.type_name(), " cannot be set this way"));
  }
}

}  // namespace

absl::Status SetByPath(v1::ServerConfig& config, const std::string& assignment) {
  const size_t equals = assignment.find('=');
  if (equals == std::string::npos) return Refuse(assignment, "must be path=value");
  const std::vector<std::string> names = absl::StrSplit(assignment.substr(0, equals), '.');
  Message* message = &config;
  for (size_t i = 0;; ++i) {
    const Descriptor& type = *message->GetDescriptor();
    const FieldDescriptor* field = type.FindFieldByName(names[i]);
    if (field == nullptr) {
      return Refuse(assignment, absl::StrCat(type.name(), " has no field \"", absl::CEscape(names[i]), "\", but ",
                                             FieldNames(type)));
    }
    if (field->is_repeated()) {
      return Refuse(assignment,
                    absl::StrCat("\"", names[i], "\" is a list: it can be given in a configuration file only"));
    }
    if (i + 1 == names.size()) return SetField(*message, *field, assignment, assignment.substr(equals + 1));
    if (field->message_type() == nullptr) {
      return Refuse(assignment, absl::StrCat("\"", names[i], "\" is a value and has no fields"));
    }
    message = message->GetReflection()->MutableMessage(message, field);
  }
}

}  // namespace engram
