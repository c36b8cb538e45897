#include "model/files/tokenizer_json.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "model/files/byte_level.h"
#include "model/files/errors.h"
#include "model/files/json_text.h"

namespace engram {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kTokenizerBytesMax = uint64_t{256} << 20;

// Gathers id -> raw string. Ids may come in any order, so holes show only at the end.
class IdTable {
 public:
  absl::Status Add(const Json& id, const std::string& raw) {
    if (!id.is_number_unsigned()) {
      return absl::InvalidArgumentError(absl::StrCat("token \"", raw, "\": its id is ", JsonKind(id),
                                                     id.is_number() ? absl::StrCat(" ", id.dump()) : std::string(),
                                                     ", not an integer of 0 or more"));
    }
    const auto [entry, is_new] = raws_.emplace(id.get<uint64_t>(), raw);
    if (is_new || entry->second == raw) return absl::OkStatus();  // an added token may be in the vocabulary as well
    return absl::InvalidArgumentError(
        absl::StrCat("token id ", id.get<uint64_t>(), " is given to \"", entry->second, "\" and to \"", raw, "\""));
  }

  absl::StatusOr<std::vector<TokenText>> Tokens() && {
    std::vector<TokenText> tokens(raws_.size());
    for (uint64_t id = 0; id < tokens.size(); ++id) {
      const auto found = raws_.find(id);
      if (found == raws_.end()) {
        return absl::InvalidArgumentError(absl::StrCat("token id ", id, " is missing: ", raws_.size(),
                                                       " tokens must have the ids 0..", raws_.size() - 1));
      }
      // The decoder is applied to added tokens too; most of them have a character that is not of the alphabet.
      tokens[id].text = LossyUtf8(ByteLevelBytes(found->second));
      tokens[id].raw = std::move(found->second);
    }
    return tokens;
  }

 private:
  absl::flat_hash_map<uint64_t, std::string> raws_;
};

absl::Status CheckDecoder(const Json& document) {
  const auto decoder = document.find("decoder");
  if (decoder == document.end() || !decoder->is_object()) {
    return absl::InvalidArgumentError("decoder is missing or not an object; ByteLevel is needed");
  }
  const std::string type = decoder->value("type", Json()).dump();
  if (type == "\"ByteLevel\"") return absl::OkStatus();
  const Json steps = decoder->value("decoders", Json());
  if (type == "\"Sequence\"" && steps.is_array() && steps.size() == 1 && steps[0].is_object() &&
      steps[0].value("type", Json()) == Json("ByteLevel")) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("decoder of type ", type, " is not supported; ByteLevel, or a Sequence of it alone, is needed"));
}

absl::Status AddVocabulary(const Json& document, IdTable* table) {
  const auto model = document.find("model");
  if (model == document.end() || !model->is_object()) {
    return absl::InvalidArgumentError("model is missing or not an object");
  }
  const auto vocabulary = model->find("vocab");
  if (vocabulary == model->end() || !vocabulary->is_object()) {
    return absl::InvalidArgumentError("model.vocab is missing or not an object from token to id");
  }
  for (const auto& [raw, id] : vocabulary->items()) ENGRAM_RETURN_IF_ERROR(table->Add(id, raw));
  return absl::OkStatus();
}

absl::Status AddAddedTokens(const Json& document, IdTable* table) {
  const auto added = document.find("added_tokens");
  if (added == document.end() || added->is_null()) return absl::OkStatus();
  if (!added->is_array()) return absl::InvalidArgumentError("added_tokens is not an array");
  for (const Json& token : *added) {
    if (!token.is_object() || !token.contains("id") || !token.contains("content") || !token["content"].is_string()) {
      return absl::InvalidArgumentError("added_tokens: an entry has no id or no content string");
    }
    ENGRAM_RETURN_IF_ERROR(table->Add(token["id"], token["content"].get<std::string>()));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<TokenText>> TokensOf(const Json& document) {
  ENGRAM_RETURN_IF_ERROR(CheckDecoder(document));
  IdTable table;
  ENGRAM_RETURN_IF_ERROR(AddVocabulary(document, &table));
  ENGRAM_RETURN_IF_ERROR(AddAddedTokens(document, &table));
  return std::move(table).Tokens();
}

}  // namespace

absl::StatusOr<std::vector<TokenText>> ReadTokenizer(const std::string& path) {
  ENGRAM_ASSIGN_OR_RETURN(const Json document, ReadJsonObject(path, kTokenizerBytesMax));
  auto tokens = TokensOf(document);
  if (!tokens.ok()) return Annotate(tokens.status(), path);
  return tokens;
}

}  // namespace engram
