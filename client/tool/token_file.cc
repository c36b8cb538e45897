#include "client/tool/token_file.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "model/files/file.h"
#include "model/files/json_text.h"

namespace engram {
namespace {

constexpr uint64_t kFileBytesMax = uint64_t{1} << 30;
constexpr uint64_t kTokenMax = std::numeric_limits<uint32_t>::max();

absl::Status Wrong(const std::string& where, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(where, ": ", what));
}

// The array of whole numbers up to `max` under `key`.
absl::StatusOr<std::vector<uint32_t>> ArrayOf(const nlohmann::json& line, const char* key, uint64_t max,
                                              const std::string& where) {
  const auto found = line.find(key);
  if (found == line.end() || !found->is_array()) return Wrong(where, absl::StrCat(key, " must be an array of numbers"));
  std::vector<uint32_t> values;
  values.reserve(found->size());
  for (const nlohmann::json& value : *found) {
    if (!value.is_number_unsigned() || value.get<uint64_t>() > max) {
      return Wrong(where, absl::StrCat(key, "[", values.size(), "] is ", value.dump(-1, ' ', true),
                                       "; it must be a whole number from 0 to ", max));
    }
    values.push_back(value.get<uint32_t>());
  }
  return values;
}

absl::StatusOr<std::string> StringOf(const nlohmann::json& line, const char* key, const std::string& where) {
  const auto found = line.find(key);
  if (found == line.end()) return std::string();
  if (!found->is_string()) return Wrong(where, absl::StrCat(key, " must be a string"));
  return found->get<std::string>();
}

absl::StatusOr<TokenSequence> ParseLine(absl::string_view text, const std::string& where) {
  const absl::StatusOr<nlohmann::json> parsed = ParseJsonObject(text, where);
  if (!parsed.ok()) return parsed.status();
  const nlohmann::json& line = *parsed;
  TokenSequence sequence;
  absl::StatusOr<std::string> name = StringOf(line, "name", where);
  if (!name.ok()) return name.status();
  absl::StatusOr<std::string> language = StringOf(line, "language", where);
  if (!language.ok()) return language.status();
  absl::StatusOr<std::vector<uint32_t>> tokens = ArrayOf(line, "tokens", kTokenMax, where);
  if (!tokens.ok()) return tokens.status();
  sequence.name = *std::move(name);
  sequence.language = *std::move(language);
  sequence.tokens = *std::move(tokens);
  if (!line.contains("mask") || line["mask"].is_null()) return sequence;

  absl::StatusOr<std::vector<uint32_t>> mask = ArrayOf(line, "mask", 1, where);
  if (!mask.ok()) return mask.status();
  if (mask->size() != sequence.tokens.size()) {
    return Wrong(where, absl::StrCat("mask has ", mask->size(), " entries for ", sequence.tokens.size(), " tokens"));
  }
  for (uint32_t bit : *mask) sequence.mask.push_back(static_cast<uint8_t>(bit));
  return sequence;
}

absl::StatusOr<std::vector<TokenSequence>> ParseJsonLines(const std::string& text, const std::string& path) {
  std::vector<TokenSequence> sequences;
  size_t number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    absl::StatusOr<TokenSequence> sequence = ParseLine(line, absl::StrCat(path, ":", number));
    if (!sequence.ok()) return sequence.status();
    sequences.push_back(*std::move(sequence));
  }
  return sequences;
}

absl::StatusOr<std::vector<TokenSequence>> ParseIdLines(const std::string& text, const std::string& path) {
  TokenSequence sequence;
  size_t number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripTrailingAsciiWhitespace(line);
    absl::ConsumeSuffix(&line, ",");  // a long list broken into lines
    absl::StatusOr<std::vector<uint32_t>> ids = ParseTokenIds(line, absl::StrCat(path, ":", ++number));
    if (!ids.ok()) return ids.status();
    sequence.tokens.insert(sequence.tokens.end(), ids->begin(), ids->end());
  }
  return std::vector<TokenSequence>{std::move(sequence)};
}

}  // namespace

absl::StatusOr<std::vector<uint32_t>> ParseTokenIds(absl::string_view text, const std::string& where) {
  std::vector<uint32_t> ids;
  if (absl::StripAsciiWhitespace(text).empty()) return ids;
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    if (absl::StripAsciiWhitespace(part).empty()) {
      return Wrong(where, absl::StrCat("entry ", ids.size(), " is empty: numbers must stand on both sides of a comma"));
    }
    for (absl::string_view word : absl::StrSplit(part, absl::ByAnyChar(" \t\r\n"), absl::SkipEmpty())) {
      uint32_t id = 0;
      if (!absl::SimpleAtoi(word, &id)) {
        return Wrong(where, absl::StrCat("entry ", ids.size(), " is '", word, "'; it must be a whole number from 0 to ",
                                         kTokenMax));
      }
      ids.push_back(id);
    }
  }
  return ids;
}

absl::StatusOr<std::vector<uint8_t>> ParseMask(absl::string_view text, size_t tokens, const std::string& where) {
  absl::StatusOr<std::vector<uint32_t>> bits = ParseTokenIds(text, where);
  if (!bits.ok()) return bits.status();
  if (!bits->empty() && bits->size() != tokens) {
    return Wrong(where, absl::StrCat("has ", bits->size(), " entries for ", tokens, " tokens"));
  }
  std::vector<uint8_t> mask;
  for (uint32_t bit : *bits) {
    if (bit > 1) return Wrong(where, absl::StrCat("entry ", mask.size(), " is ", bit, "; it must be 0 or 1"));
    mask.push_back(static_cast<uint8_t>(bit));
  }
  return mask;
}

absl::StatusOr<std::vector<TokenSequence>> ParseSequences(const std::string& text, const std::string& path) {
  const absl::string_view content = absl::StripLeadingAsciiWhitespace(text);
  absl::StatusOr<std::vector<TokenSequence>> sequences =
      !content.empty() && content.front() == '{' ? ParseJsonLines(text, path) : ParseIdLines(text, path);
  if (sequences.ok() && sequences->front().tokens.empty() && sequences->size() == 1) {
    return Wrong(path, "holds no tokens");
  }
  return sequences;
}

absl::StatusOr<std::vector<TokenSequence>> ReadSequences(const std::string& path) {
  absl::StatusOr<std::string> text = ReadWholeFile(path, kFileBytesMax);
  if (!text.ok()) return text.status();
  return ParseSequences(*text, path);
}

absl::StatusOr<std::vector<TokenSequence>> ReadAllSequences(const std::vector<std::string>& paths) {
  std::vector<TokenSequence> all;
  for (const std::string& path : paths) {
    absl::StatusOr<std::vector<TokenSequence>> sequences = ReadSequences(path);
    if (!sequences.ok()) return sequences.status();
    std::move(sequences->begin(), sequences->end(), std::back_inserter(all));
  }
  return all;
}

bool HoldNoTokens(const std::vector<TokenSequence>& sequences) {
  return std::all_of(sequences.begin(), sequences.end(), [](const auto& sequence) { return sequence.tokens.empty(); });
}

}  // namespace engram
