// Where the tokens of made-up traffic come from.

#ifndef ENGRAM_CLIENT_TOOL_TOKEN_SOURCE_H_
#define ENGRAM_CLIENT_TOOL_TOKEN_SOURCE_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "client/tool/token_file.h"
#include "model/hash_constants.h"

namespace engram {

using TrafficRandom = std::mt19937_64;

// A sequence's tokens by position, from 0.
struct Sequence {
  size_t script = 0;             // which one of the source this is
  std::vector<uint32_t> tokens;  // as sent: anything where masked
  std::vector<int32_t> ids;      // compressed, kDead = masked

  uint64_t length() const { return tokens.size(); }
  // The mask bytes of positions [begin, end).
  std::string MaskOf(uint64_t begin, uint64_t end) const;
  void Truncate(uint64_t length) {
    tokens.resize(length);
    ids.resize(length);
  }
};

class TokenSource {
 public:
  virtual ~TokenSource() = default;
  // An empty sequence.
  virtual Sequence Begin(TrafficRandom& random) = 0;
  // Appends up to `tokens` tokens; fewer where the sequence has an end.
  virtual void Extend(Sequence& sequence, size_t tokens, TrafficRandom& random) = 0;
};

// Random ids and masks, with garbage for ids where masked; or runs of given sequences put together at random, so that
// the ids are those of real text. For checkpoints with all rows.
class RandomTokens : public TokenSource {
 public:
  RandomTokens(const HashConstants& constants, std::vector<TokenSequence> texts);
  Sequence Begin(TrafficRandom& random) override;
  void Extend(Sequence& sequence, size_t tokens, TrafficRandom& random) override;

 private:
  uint32_t DrawToken(TrafficRandom& random);

  const HashConstants& constants_;
  std::vector<TokenSequence> texts_;
  size_t text_ = 0;
  size_t text_position_ = 0;
};

// Exactly the given sequences, each from its position 0 with its mask. For sparse checkpoints.
class ScriptedTokens : public TokenSource {
 public:
  // Every sequence must have tokens below V where its mask is 1.
  ScriptedTokens(const HashConstants& constants, const std::vector<TokenSequence>& texts);
  Sequence Begin(TrafficRandom& random) override;
  void Extend(Sequence& sequence, size_t tokens, TrafficRandom& random) override;

  // The whole sequences.
  const std::vector<Sequence>& sequences() const { return sequences_; }

 private:
  std::vector<Sequence> sequences_;
};

// INVALID_ARGUMENT naming the sequence, the token and the bound where one is not below V and not masked.
absl::Status CheckTokens(const std::vector<TokenSequence>& texts, uint64_t vocab_size);

}  // namespace engram

#endif  // ENGRAM_CLIENT_TOOL_TOKEN_SOURCE_H_
