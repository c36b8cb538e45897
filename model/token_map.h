// The compressed token map: folds tokens whose text normalises alike.

#ifndef ENGRAM_MODEL_TOKEN_MAP_H_
#define ENGRAM_MODEL_TOKEN_MAP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace engram {

// A token as tokenizer.json gives it.
struct TokenText {
  std::string raw;   // the vocabulary string (byte-level alphabet) or the added token's content
  std::string text;  // decoded alone, special tokens kept; UTF-8, undecodable bytes as U+FFFD
};

// The key under which tokens fold: NFKC, NFD, marks (Mn, Mc, Me) dropped, each code point lowercased, runs of space,
// tab, CR and LF made one space, white space stripped at both ends unless the whole is one space; a text with U+FFFD is
// keyed by its raw string, an empty key falls back to the text. INVALID_ARGUMENT where text is not UTF-8; INTERNAL
// where ICU has no data.
absl::StatusOr<std::string> NormalizedKey(const TokenText& token);

// Compressed ids in order of first appearance. [V] -> [V]. Errors as NormalizedKey's, naming the token.
absl::StatusOr<std::vector<int32_t>> DeriveTokenMap(const std::vector<TokenText>& tokens);

}  // namespace engram

#endif  // ENGRAM_MODEL_TOKEN_MAP_H_
