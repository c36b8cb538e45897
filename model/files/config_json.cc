#include "model/files/config_json.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/files/checkpoint.h"
#include "model/files/errors.h"
#include "model/files/json_text.h"
#include "model/hash_constants.h"

namespace engram {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kConfigBytesMax = uint64_t{16} << 20;
constexpr uint64_t kU32Max = std::numeric_limits<uint32_t>::max();
constexpr uint64_t kRowsMax = uint64_t{1} << 48;
constexpr char kPadKeys[] = "engram_pad_id or engram_pad_token_id";

// Looks keys up in both forms of the file. Borrows the document.
class ConfigReader {
 public:
  ConfigReader(const std::string& path, const Json& document) : path_(path), top_(document) {}

  absl::Status Open() {
    const auto nested = top_.find("text_config");
    if (nested == top_.end() || nested->is_null()) return absl::OkStatus();
    if (!nested->is_object()) return Wrong("text_config", *nested, "an object");
    nested_ = &*nested;
    return absl::OkStatus();
  }

  // The one value that all spellings in both places agree on; null when none is stated.
  absl::StatusOr<Json> Find(const std::vector<std::string>& spellings) const {
    Json value;
    std::string value_name;
    for (const auto& [prefix, object] : {std::pair("text_config.", nested_), std::pair("", &top_)}) {
      for (const std::string& spelling : spellings) {
        if (object == nullptr || !object->contains(spelling) || object->at(spelling).is_null()) continue;
        const Json& found = object->at(spelling);
        const std::string name = absl::StrCat(prefix, spelling);
        if (!value.is_null() && value != found) {
          return absl::InvalidArgumentError(
              absl::StrCat(path_, ": ", value_name, " is ", value.dump(), ", but ", name, " is ", found.dump()));
        }
        value = found;
        value_name = name;
      }
    }
    return value;
  }

  absl::StatusOr<std::optional<uint64_t>> FindInteger(const std::vector<std::string>& spellings, uint64_t low,
                                                      uint64_t high) const {
    ENGRAM_ASSIGN_OR_RETURN(const Json value, Find(spellings));
    if (value.is_null()) return std::optional<uint64_t>();
    ENGRAM_ASSIGN_OR_RETURN(const uint64_t number, Integer(absl::StrJoin(spellings, "/"), value, low, high));
    return std::optional<uint64_t>(number);
  }

  absl::Status ReadU32(const std::string& key, uint32_t* out) const {
    ENGRAM_ASSIGN_OR_RETURN(const auto value, FindInteger({key}, 1, kU32Max));
    if (!value) return MissingConfigKey(path_, key);
    *out = static_cast<uint32_t>(*value);
    return absl::OkStatus();
  }

  template <typename T>
  absl::Status ReadList(const std::string& key, uint64_t high, std::vector<T>* out) const {
    ENGRAM_ASSIGN_OR_RETURN(const Json value, Find({key}));
    if (value.is_null()) return MissingConfigKey(path_, key);
    if (!value.is_array()) return Wrong(key, value, "an array of integers");
    if (value.size() > kLayersMax) {
      return absl::InvalidArgumentError(
          absl::StrCat(path_, ": ", key, " has ", value.size(), " elements, at most ", kLayersMax, " are read"));
    }
    for (const Json& element : value) {
      ENGRAM_ASSIGN_OR_RETURN(const uint64_t number, Integer(absl::StrCat("an element of ", key), element, 0, high));
      out->push_back(static_cast<T>(number));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Wrong(const std::string& key, const Json& value, const std::string& expected) const {
    const std::string text = value.is_primitive() ? absl::StrCat(" (", value.dump(), ")") : std::string();
    return absl::InvalidArgumentError(
        absl::StrCat(path_, ": ", key, " is ", JsonKind(value), text, ", expected ", expected));
  }

  absl::StatusOr<uint64_t> Integer(const std::string& key, const Json& value, uint64_t low, uint64_t high) const {
    const bool is_fit = value.is_number_unsigned() && value.get<uint64_t>() >= low && value.get<uint64_t>() <= high;
    if (!is_fit) return Wrong(key, value, absl::StrCat("an integer in [", low, ", ", high, "]"));
    return value.get<uint64_t>();
  }

  const std::string& path_;
  const Json& top_;
  const Json* nested_ = nullptr;
};

absl::StatusOr<Geometry> ReadGeometry(const ConfigReader& reader) {
  Geometry geometry;
  ENGRAM_RETURN_IF_ERROR(reader.ReadList("engram_layer_ids", kU32Max, &geometry.layer_ids));
  ENGRAM_RETURN_IF_ERROR(reader.ReadList("engram_num_embeddings", kRowsMax, &geometry.rows));
  ENGRAM_RETURN_IF_ERROR(reader.ReadU32("engram_max_ngram_size", &geometry.max_ngram_size));
  ENGRAM_RETURN_IF_ERROR(reader.ReadU32("engram_n_heads", &geometry.heads));
  ENGRAM_RETURN_IF_ERROR(reader.ReadU32("engram_head_dim", &geometry.head_dim));
  ENGRAM_RETURN_IF_ERROR(reader.ReadU32("vocab_size", &geometry.vocab_size));
  ENGRAM_RETURN_IF_ERROR(reader.ReadU32("engram_compressed_vocab_size", &geometry.compressed_vocab_size));
  return geometry;
}

}  // namespace

absl::Status MissingConfigKey(const std::string& path, const std::string& key) {
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": key ", key, " is missing, at the top level and under text_config"));
}

absl::StatusOr<ConfigFields> ReadConfigFields(const std::string& path) {
  ENGRAM_ASSIGN_OR_RETURN(const Json document, ReadJsonObject(path, kConfigBytesMax));
  ConfigReader reader(path, document);
  ENGRAM_RETURN_IF_ERROR(reader.Open());
  ConfigFields fields;
  ENGRAM_ASSIGN_OR_RETURN(fields.geometry, ReadGeometry(reader));
  ENGRAM_RETURN_IF_ERROR(Annotate(fields.geometry.Validate(), path));
  ENGRAM_ASSIGN_OR_RETURN(fields.engram_vocab_size, reader.FindInteger({"engram_vocab_size"}, 1, kPrimeEnd - 1));
  ENGRAM_ASSIGN_OR_RETURN(
      const auto pad, reader.FindInteger({"engram_pad_id", "engram_pad_token_id"}, 0, fields.geometry.vocab_size - 1));
  if (pad) fields.pad_token_id = static_cast<uint32_t>(*pad);
  return fields;
}

absl::StatusOr<EngramConfig> ReadEngramConfig(const std::string& config_json_path) {
  ENGRAM_ASSIGN_OR_RETURN(ConfigFields fields, ReadConfigFields(config_json_path));
  if (!fields.engram_vocab_size) return MissingConfigKey(config_json_path, "engram_vocab_size");
  if (!fields.pad_token_id) return MissingConfigKey(config_json_path, kPadKeys);
  return EngramConfig{std::move(fields.geometry), *fields.engram_vocab_size, *fields.pad_token_id};
}

}  // namespace engram
