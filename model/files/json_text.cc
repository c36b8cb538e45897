#include "model/files/json_text.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "model/files/errors.h"
#include "model/files/file.h"

namespace engram {
namespace {

constexpr size_t kDepthMax = 64;

// Brackets outside strings. Counted before parsing: each level of a document tree costs far more memory than its byte.
size_t DeepestNesting(absl::string_view text) {
  size_t depth = 0;
  size_t deepest = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\') {
      ++i;
    } else if (c == '"') {
      in_string = !in_string;
    } else if (!in_string && (c == '[' || c == '{')) {
      deepest = std::max(deepest, ++depth);
    } else if (!in_string && (c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return deepest;
}

// Parses; `repeated` becomes the first key that stands twice in one object. Of such keys the parser keeps the last
// only.
nlohmann::json ParseNotingRepeats(absl::string_view text, std::optional<std::string>* repeated) {
  using Event = nlohmann::json::parse_event_t;
  std::vector<absl::flat_hash_set<std::string>> keys;  // of each object that is open
  return nlohmann::json::parse(text.begin(), text.end(), [&](int, Event event, nlohmann::json& parsed) {
    if (event == Event::object_start) keys.emplace_back();
    if (event == Event::object_end) keys.pop_back();
    if (event != Event::key) return true;
    const auto& key = parsed.get_ref<const std::string&>();
    if (!keys.back().insert(key).second && !repeated->has_value()) *repeated = key;
    return true;
  });
}

}  // namespace

absl::StatusOr<nlohmann::json> ParseJsonObject(absl::string_view text, const std::string& where) {
  if (const size_t depth = DeepestNesting(text); depth > kDepthMax) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, ": nests ", depth, " deep, at most ", kDepthMax, " are read"));
  }
  nlohmann::json document;
  std::optional<std::string> repeated;
  try {
    document = ParseNotingRepeats(text, &repeated);
  } catch (const nlohmann::json::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat(where, ": is not JSON: ", error.what()));
  }
  if (repeated) return absl::InvalidArgumentError(absl::StrCat(where, ": key \"", *repeated, "\" occurs twice"));
  if (!document.is_object()) {
    return absl::InvalidArgumentError(absl::StrCat(where, ": holds ", JsonKind(document), ", not an object"));
  }
  return document;
}

absl::StatusOr<nlohmann::json> ReadJsonObject(const std::string& path, uint64_t bytes_max) {
  ENGRAM_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path, bytes_max));
  return ParseJsonObject(text, path);
}

std::string JsonKind(const nlohmann::json& value) {
  if (value.is_number_float()) return "a fraction";
  if (value.is_null()) return "null";
  return absl::StrCat(value.is_array() || value.is_object() ? "an " : "a ", value.type_name());
}

}  // namespace engram
