#include "model/files/json_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "model/files/errors.h"
#include "model/files/file.h"

namespace engram {
namespace {

constexpr size_t kDepthMax = 64;

// Brackets outside strings. Counted before parsing: each level of a document tree costs far more memory than its byte.
size_t DeepestNesting(const std::string& text) {
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

}  // namespace

absl::StatusOr<nlohmann::json> ReadJsonObject(const std::string& path, uint64_t bytes_max) {
  ENGRAM_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path, bytes_max));
  if (const size_t depth = DeepestNesting(text); depth > kDepthMax) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": nests ", depth, " deep, at most ", kDepthMax, " are read"));
  }
  nlohmann::json document;
  try {
    document = nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": is not JSON: ", error.what()));
  }
  if (!document.is_object()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": holds ", JsonKind(document), ", not an object"));
  }
  return document;
}

std::string JsonKind(const nlohmann::json& value) {
  if (value.is_number_float()) return "a fraction";
  if (value.is_null()) return "null";
  return absl::StrCat(value.is_array() || value.is_object() ? "an " : "a ", value.type_name());
}

}  // namespace engram
