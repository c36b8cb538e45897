// The vocabulary of a Hugging Face tokenizer.json, each token with the text it decodes to.

#ifndef ENGRAM_MODEL_FILES_TOKENIZER_JSON_H_
#define ENGRAM_MODEL_FILES_TOKENIZER_JSON_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "model/token_map.h"

namespace engram {

// Token id -> raw string and text, for the ids 0..V-1 of model.vocab and added_tokens together. Texts are what the
// tokenizers library returns when it decodes the one id and keeps special tokens; its decoder must be ByteLevel, alone
// or in a Sequence. Errors: NOT_FOUND; INVALID_ARGUMENT for malformed JSON, for another decoder, and naming the id
// where ids have a hole or one is given to two tokens.
absl::StatusOr<std::vector<TokenText>> ReadTokenizer(const std::string& path);

}  // namespace engram

#endif  // ENGRAM_MODEL_FILES_TOKENIZER_JSON_H_
