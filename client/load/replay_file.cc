#include "client/load/replay_file.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "model/files/errors.h"
#include "model/files/file.h"
#include "model/files/json_text.h"

namespace engram {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kFileBytesMax = uint64_t{1} << 30;
constexpr uint64_t kIdMax = std::numeric_limits<uint64_t>::max();
constexpr double kAtMsMax = 1e12;  // 31 years

absl::Status Wrong(const std::string& where, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(where, ": ", what));
}

std::string Show(const Json& value) { return value.dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, 80); }

absl::Status CheckKeys(const Json& object, const std::set<std::string>& known, const std::string& where) {
  for (const auto& [key, value] : object.items()) {
    if (known.count(key) == 0) return Wrong(where, absl::StrCat("unknown key '", key, "'"));
  }
  return absl::OkStatus();
}

// `name` of the value, for messages.
absl::StatusOr<uint64_t> WholeOf(const Json& value, uint64_t low, uint64_t high, const std::string& where,
                                 const std::string& name) {
  if (value.is_number_unsigned() && value.get<uint64_t>() >= low && value.get<uint64_t>() <= high) {
    return value.get<uint64_t>();
  }
  return Wrong(where, absl::StrCat(name, " is ", Show(value), "; it must be a whole number from ", low, " to ", high));
}

// Under `key`, which must be there.
absl::StatusOr<uint64_t> WholeAt(const Json& object, const char* key, uint64_t low, uint64_t high,
                                 const std::string& where) {
  const auto found = object.find(key);
  if (found == object.end()) return Wrong(where, absl::StrCat(key, " is missing"));
  return WholeOf(*found, low, high, where, key);
}

template <typename T>
absl::StatusOr<std::vector<T>> ArrayAt(const Json& object, const char* key, uint64_t low, const std::string& where) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) return Wrong(where, absl::StrCat(key, " must be an array"));
  std::vector<T> values;
  values.reserve(found->size());
  for (const Json& value : *found) {
    const std::string name = absl::StrCat(key, "[", values.size(), "]");
    ENGRAM_ASSIGN_OR_RETURN(const uint64_t number, WholeOf(value, low, std::numeric_limits<T>::max(), where, name));
    values.push_back(static_cast<T>(number));
  }
  return values;
}

absl::Status ParseSegment(const Json& object, const std::string& where, ReplayStep& step) {
  if (!object.is_object()) return Wrong(where, absl::StrCat("is ", JsonKind(object), "; it must be an object"));
  ENGRAM_RETURN_IF_ERROR(CheckKeys(object, {"session", "start", "tokens", "lookback"}, where));
  LoadSegment segment;
  ENGRAM_ASSIGN_OR_RETURN(segment.session_id, WholeAt(object, "session", 1, kIdMax, where));
  ENGRAM_ASSIGN_OR_RETURN(segment.start_pos, WholeAt(object, "start", 0, kIdMax / 2, where));
  ENGRAM_ASSIGN_OR_RETURN(segment.tokens, ArrayAt<uint32_t>(object, "tokens", 0, where));
  step.seeds.push_back(object.contains("lookback"));
  if (step.seeds.back()) {
    ENGRAM_ASSIGN_OR_RETURN(segment.lookback, ArrayAt<uint32_t>(object, "lookback", 0, where));
  }
  for (const LoadSegment& other : step.segments) {
    if (other.session_id == segment.session_id) {
      return Wrong(where, absl::StrCat("session ", segment.session_id, " is in the step already; at most once"));
    }
  }
  step.segments.push_back(std::move(segment));
  return absl::OkStatus();
}

absl::Status ParseSegments(const Json& line, const std::string& where, ReplayStep& step) {
  const auto found = line.find("segments");
  if (found == line.end() || !found->is_array()) return Wrong(where, "segments must be an array");
  for (const Json& segment : *found) {
    ENGRAM_RETURN_IF_ERROR(ParseSegment(segment, absl::StrCat(where, ": segments[", step.segments.size(), "]"), step));
  }
  return absl::OkStatus();
}

// Without the key: decode where each segment has one token, else prefill.
absl::Status ParseKind(const Json& line, const std::string& where, ReplayStep& step) {
  const auto found = line.find("kind");
  if (found == line.end()) {
    for (const LoadSegment& segment : step.segments) {
      if (segment.tokens.size() > 1) step.kind = StepKind::kPrefill;
    }
    return absl::OkStatus();
  }
  for (size_t kind = 0; kind < kStepKinds; ++kind) {
    if (*found != kStepKindNames[kind]) continue;
    step.kind = static_cast<StepKind>(kind);
    return absl::OkStatus();
  }
  return Wrong(where,
               absl::StrCat("kind is ", Show(*found), "; it must be one of ", absl::StrJoin(kStepKindNames, ", ")));
}

absl::Status ParseTime(const Json& line, const std::string& where, ReplayStep& step) {
  const auto found = line.find("at_ms");
  if (found == line.end()) return absl::OkStatus();
  if (!found->is_number() || !(found->get<double>() >= 0 && found->get<double>() <= kAtMsMax)) {
    return Wrong(where, absl::StrCat("at_ms is ", Show(*found), "; it must be a number from 0 to ", kAtMsMax));
  }
  step.at = absl::Milliseconds(found->get<double>());
  return absl::OkStatus();
}

absl::StatusOr<ReplayStep> ParseLine(absl::string_view text, size_t number, const std::string& where) {
  ENGRAM_ASSIGN_OR_RETURN(const Json line, ParseJsonObject(text, where));
  ENGRAM_RETURN_IF_ERROR(CheckKeys(line, {"at_ms", "stream", "kind", "segments", "close"}, where));
  ReplayStep step;
  step.line = number;
  if (line.contains("stream")) {
    ENGRAM_ASSIGN_OR_RETURN(step.stream, WholeAt(line, "stream", 0, kStreamsMax - 1, where));
  }
  ENGRAM_RETURN_IF_ERROR(ParseTime(line, where, step));
  ENGRAM_RETURN_IF_ERROR(ParseSegments(line, where, step));
  ENGRAM_RETURN_IF_ERROR(ParseKind(line, where, step));
  if (line.contains("close")) {
    ENGRAM_ASSIGN_OR_RETURN(step.closed, ArrayAt<uint64_t>(line, "close", 1, where));
  }
  return step;
}

}  // namespace

absl::StatusOr<std::vector<ReplayStep>> ParseReplay(const std::string& text, const std::string& path) {
  std::vector<ReplayStep> steps;
  std::vector<absl::Duration> last(kStreamsMax);
  size_t number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    const std::string where = absl::StrCat(path, ":", number);
    ENGRAM_ASSIGN_OR_RETURN(ReplayStep step, ParseLine(line, number, where));
    if (step.at < last[step.stream]) {
      return Wrong(where, absl::StrCat("at_ms is ", absl::ToDoubleMilliseconds(step.at), "; it must be at least ",
                                       absl::ToDoubleMilliseconds(last[step.stream]), ", as in stream ", step.stream,
                                       " before"));
    }
    last[step.stream] = step.at;
    steps.push_back(std::move(step));
  }
  if (steps.empty()) return Wrong(path, "holds no steps");
  return steps;
}

absl::StatusOr<std::vector<ReplayStep>> ReadReplay(const std::string& path) {
  ENGRAM_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path, kFileBytesMax));
  return ParseReplay(text, path);
}

}  // namespace engram
