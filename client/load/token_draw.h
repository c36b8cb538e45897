// Where the token ids of load come from.

#ifndef ENGRAM_CLIENT_LOAD_TOKEN_DRAW_H_
#define ENGRAM_CLIENT_LOAD_TOKEN_DRAW_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "absl/status/statusor.h"

namespace engram {

using LoadRandom = std::mt19937_64;

// Evenly spread over [0, 1).
double DrawShare(LoadRandom& random);

// What one session writes, one token after another. Not thread-safe.
class TokenDraw {
 public:
  virtual ~TokenDraw() = default;
  virtual uint32_t Next(LoadRandom& random) = 0;
};

// Immutable, shared by all streams; outlives the draws it makes.
class TokenPool {
 public:
  virtual ~TokenPool() = default;
  // For a session that begins.
  virtual std::unique_ptr<TokenDraw> Begin(LoadRandom& random) const = 0;
};

// Token id t with a probability in proportion to 1/(t+1)^exponent, t in [0, vocab_size): in the vocabularies of models
// low ids are the frequent ones. Each token is drawn by itself. Exponent 0: all alike. 8 bytes a token id.
class ZipfTokens : public TokenPool {
 public:
  // Both above 0, but for the exponent, which may be 0.
  ZipfTokens(double exponent, uint32_t vocab_size);
  std::unique_ptr<TokenDraw> Begin(LoadRandom& random) const override;

  uint32_t Draw(LoadRandom& random) const;

 private:
  std::vector<double> cumulative_;  // [vocab_size]: of the weights up to and with each token
};

// Runs of real texts: a session begins at a random place of a random text and goes on at the next text's beginning, so
// that its n-grams are those of text.
class TextTokens : public TokenPool {
 public:
  // INVALID_ARGUMENT naming text, place, value and bound for a token that is not below vocab_size, or when there is no
  // token at all. Texts without tokens are left out.
  static absl::StatusOr<TextTokens> Create(std::vector<std::vector<uint32_t>> texts, uint32_t vocab_size);
  std::unique_ptr<TokenDraw> Begin(LoadRandom& random) const override;

 private:
  explicit TextTokens(std::vector<std::vector<uint32_t>> texts) : texts_(std::move(texts)) {}

  std::vector<std::vector<uint32_t>> texts_;
};

}  // namespace engram

#endif  // ENGRAM_CLIENT_LOAD_TOKEN_DRAW_H_
