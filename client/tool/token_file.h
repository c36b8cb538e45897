// Token ids from the command line and from files.

#ifndef ENGRAM_CLIENT_TOOL_TOKEN_FILE_H_
#define ENGRAM_CLIENT_TOOL_TOKEN_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace engram {

struct TokenSequence {
  std::string name;
  std::string language;
  std::vector<uint32_t> tokens;
  std::vector<uint8_t> mask;  // empty (all take part), or one 0 or 1 a token
};

// Whole numbers from 0 to 2^32 - 1, separated by white space or by a comma with numbers on both sides; none is fine.
// INVALID_ARGUMENT beginning with `where` and naming the entry.
absl::StatusOr<std::vector<uint32_t>> ParseTokenIds(absl::string_view text, const std::string& where);

// As ParseTokenIds, each 0 or 1 and one for each of `tokens`; an empty text is no mask.
absl::StatusOr<std::vector<uint8_t>> ParseMask(absl::string_view text, size_t tokens, const std::string& where);

// JSON lines, one object a sequence: {"name": string, "language": string, "tokens": [ids], "mask": [0/1]} where only
// tokens is needed; or, where the first character is no brace, ids as ParseTokenIds takes them, also with a comma at a
// line's end: one sequence.
// INVALID_ARGUMENT naming the line (as path:line), the field, its value and the bound.
absl::StatusOr<std::vector<TokenSequence>> ParseSequences(const std::string& text, const std::string& path);

// ParseSequences of a file of at most 1 GiB; and the errors of ReadWholeFile.
absl::StatusOr<std::vector<TokenSequence>> ReadSequences(const std::string& path);
// Those of all files, one file after the other.
absl::StatusOr<std::vector<TokenSequence>> ReadAllSequences(const std::vector<std::string>& paths);

bool HoldNoTokens(const std::vector<TokenSequence>& sequences);

}  // namespace engram

#endif  // ENGRAM_CLIENT_TOOL_TOKEN_FILE_H_
