// Fuzzes the configuration: text format, then assignments as --set takes them, then defaults and bounds.
//
// An input is the text of a configuration; each line that begins with "--set " ends what was before it and is an
// assignment up to the next of them.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "engram/v1/engram.pb.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/text_format.h"
#include "google/protobuf/util/message_differencer.h"
#include "server/config.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/unit/server/config_fixture.h"

namespace engram {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::util::MessageDifferencer;

constexpr char kSource[] = "fuzz.txtpb";

bool ConsumeNumber(absl::string_view& text) {
  const size_t before = text.size();
  while (!text.empty() && absl::ascii_isdigit(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  return text.size() < before;
}

// "fuzz.txtpb:LINE:COLUMN: what".
void RequireLocated(const absl::Status& status) {
  absl::string_view rest = status.message();
  const bool located = absl::ConsumePrefix(&rest, absl::StrCat(kSource, ":")) && ConsumeNumber(rest) &&
                       absl::ConsumePrefix(&rest, ":") && ConsumeNumber(rest) && absl::ConsumePrefix(&rest, ": ");
  ENGRAM_REQUIRE(absl::IsInvalidArgument(status) && located && !rest.empty(),
                 absl::StrCat("a fault of the text names line and column: ", status.ToString()));
}

// The field of a path like "group.field"; null where there is none.
const FieldDescriptor* FieldAt(absl::string_view path) {
  const google::protobuf::Descriptor* type = v1::ServerConfig::descriptor();
  const FieldDescriptor* field = nullptr;
  for (const absl::string_view name : absl::StrSplit(path, '.')) {
    field = type == nullptr ? nullptr : type->FindFieldByName(std::string(name));
    type = field == nullptr ? nullptr : field->message_type();
  }
  return field;
}

// A message that begins with "group.field", which exists.
void RequireNamesField(const absl::Status& status) {
  const absl::string_view path = status.message().substr(0, status.message().find_first_of(" :"));
  ENGRAM_REQUIRE(absl::IsInvalidArgument(status) && FieldAt(path) != nullptr,
                 absl::StrCat("a refusal names a field: ", status.ToString()));
}

// "group.field=value" made the field that value.
void RequireAssigned(const v1::ServerConfig& config, absl::string_view assignment) {
  const auto path = assignment.substr(0, assignment.find('='));
  const auto value = assignment.substr(path.size() + 1);
  const FieldDescriptor& field = *FieldAt(path);
  const std::string group_name(path.substr(0, path.find('.')));
  const Message& group =
      config.GetReflection()->GetMessage(config, v1::ServerConfig::descriptor()->FindFieldByName(group_name));
  std::string is;
  google::protobuf::TextFormat::PrintFieldValueToString(group, &field, -1, &is);
  uint64_t number = 0;
  const bool same = field.cpp_type() == FieldDescriptor::CPPTYPE_STRING
                        ? group.GetReflection()->GetString(group, &field) == value
                        : is == value || (absl::SimpleAtoi(value, &number) && is == absl::StrCat(number));
  ENGRAM_REQUIRE(same, absl::StrCat(assignment, " made it ", is));
}

// What --print-config shows reads back as what it shows.
void RequirePrintsToItself(const v1::ServerConfig& config) {
  const std::string text = PrintConfig(config);
  const absl::StatusOr<v1::ServerConfig> again = ParseConfig(text, kSource);
  ENGRAM_REQUIRE(again.ok(), absl::StrCat("a printed configuration parses: ", again.status().ToString(), "\n", text));
  ENGRAM_REQUIRE(MessageDifferencer::Equals(config, *again),
                 absl::StrCat("a printed configuration is the same: ", text));
  ENGRAM_REQUIRE(PrintConfig(*again) == text, absl::StrCat("printing is stable: ", text));
}

v1::ServerConfig Filled(v1::ServerConfig config) {
  FillDefaults(config);
  return config;
}

void Assign(v1::ServerConfig& config, const std::string& assignment) {
  const v1::ServerConfig before = Filled(config);
  const absl::Status status = SetByPath(config, assignment);
  if (status.ok()) {
    RequireAssigned(config, assignment);
    return RequirePrintsToItself(config);
  }
  const std::string name = absl::StrCat("\"", absl::CEscape(assignment), "\": ");
  ENGRAM_REQUIRE(absl::IsInvalidArgument(status) && absl::StartsWith(status.message(), name),
                 absl::StrCat("a refused assignment is named: ", status.ToString()));
  ENGRAM_REQUIRE(MessageDifferencer::Equals(before, Filled(config)),
                 absl::StrCat("a refused assignment changes nothing: ", assignment));
}

// What a configuration with all its bounds kept must be good for.
void RequireUsable(const v1::ServerConfig& config) {
  ENGRAM_REQUIRE(SessionLimitsOf(config).history_bytes_max > 0, "there is room for history");
  v1::Model model;
  model.set_name(config.model().name());
  ENGRAM_REQUIRE(v1::Model().ParseFromString(model.SerializeAsString()), "clients can parse Model.name");
  const Geometry geometry = FullSize();
  const absl::Status fits = ValidateForModel(config, geometry, 4);
  if (!fits.ok()) return RequireNamesField(fits);
  ENGRAM_REQUIRE(EngineOptionsOf(config, geometry).round_rows_max > 0, "a round has rows");
}

void Run(const std::string& input) {
  const std::vector<std::string> parts = absl::StrSplit(absl::StrCat("\n", input), "\n--set ");
  absl::StatusOr<v1::ServerConfig> config = ParseConfig(parts[0], kSource);
  if (!config.ok()) return RequireLocated(config.status());
  RequirePrintsToItself(*config);
  for (size_t i = 1; i < parts.size(); ++i) Assign(*config, parts[i]);

  const v1::ServerConfig filled = Filled(*config);
  RequirePrintsToItself(filled);
  ENGRAM_REQUIRE(MessageDifferencer::Equals(filled, Filled(filled)), "defaults are filled in once");
  const absl::Status valid = ValidateConfig(filled);
  if (!valid.ok()) return RequireNamesField(valid);
  RequireUsable(filled);
}

}  // namespace
}  // namespace engram

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  engram::Run(std::string(data, data + size));
  return 0;
}
