#include "client/tool/token_source.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace engram {
namespace {

bool Taken(const TokenSequence& text, size_t position) { return text.mask.empty() || text.mask[position] != 0; }

}  // namespace

std::string Sequence::MaskOf(uint64_t begin, uint64_t end) const {
  std::string mask;
  for (uint64_t i = begin; i < end; ++i) mask.push_back(ids[i] == kDead ? '\0' : '\1');
  return mask;
}

absl::Status CheckTokens(const std::vector<TokenSequence>& texts, uint64_t vocab_size) {
  for (size_t number = 0; number < texts.size(); ++number) {
    const TokenSequence& text = texts[number];
    for (size_t i = 0; i < text.tokens.size(); ++i) {
      if (!Taken(text, i) || text.tokens[i] < vocab_size) continue;
      return absl::InvalidArgumentError(absl::StrCat("sequence ", number, " ('", text.name, "'): tokens[", i, "] is ",
                                                     text.tokens[i], "; it must be below vocab_size ", vocab_size));
    }
  }
  return absl::OkStatus();
}

RandomTokens::RandomTokens(const HashConstants& constants, std::vector<TokenSequence> texts)
    : constants_(constants), texts_(std::move(texts)) {
  texts_.erase(std::remove_if(texts_.begin(), texts_.end(), [](const auto& text) { return text.tokens.empty(); }),
               texts_.end());
}

Sequence RandomTokens::Begin(TrafficRandom&) { return Sequence(); }

uint32_t RandomTokens::DrawToken(TrafficRandom& random) {
  if (texts_.empty()) return static_cast<uint32_t>(random() % constants_.token_map.size());
  // A run of one text, then somewhere else.
  if (text_position_ >= texts_[text_].tokens.size() || random() % 512 == 0) {
    text_ = random() % texts_.size();
    text_position_ = random() % texts_[text_].tokens.size();
  }
  const size_t position = text_position_++;
  return Taken(texts_[text_], position) ? texts_[text_].tokens[position] : 0;
}

void RandomTokens::Extend(Sequence& sequence, size_t tokens, TrafficRandom& random) {
  constexpr uint64_t kMaskedChunks = 3;  // of 10
  const bool masks = random() % 10 < kMaskedChunks;
  const uint64_t turn_every = 1 + random() % 8;
  bool masked = false;
  for (size_t i = 0; i < tokens; ++i) {
    if (masks && random() % turn_every == 0) masked = !masked;
    const auto garbage = static_cast<uint32_t>(random());
    const uint32_t token = masked ? garbage : DrawToken(random);
    sequence.tokens.push_back(token);
    sequence.ids.push_back(masked ? kDead : constants_.token_map[token]);
  }
}

ScriptedTokens::ScriptedTokens(const HashConstants& constants, const std::vector<TokenSequence>& texts) {
  for (const TokenSequence& text : texts) {
    Sequence sequence;
    sequence.script = sequences_.size();
    sequence.tokens = text.tokens;
    for (size_t i = 0; i < text.tokens.size(); ++i) {
      sequence.ids.push_back(Taken(text, i) ? constants.token_map[text.tokens[i]] : kDead);
    }
    sequences_.push_back(std::move(sequence));
  }
}

Sequence ScriptedTokens::Begin(TrafficRandom& random) {
  Sequence sequence;
  sequence.script = random() % sequences_.size();
  return sequence;
}

void ScriptedTokens::Extend(Sequence& sequence, size_t tokens, TrafficRandom&) {
  const Sequence& script = sequences_[sequence.script];
  const uint64_t begin = sequence.length();
  const uint64_t end = std::min<uint64_t>(script.length(), begin + tokens);
  for (uint64_t position = begin; position < end; ++position) {
    sequence.tokens.push_back(script.tokens[position]);
    sequence.ids.push_back(script.ids[position]);
  }
}

}  // namespace engram
