#include "client/load/token_draw.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

namespace engram {
namespace {

class ZipfDraw : public TokenDraw {
 public:
  explicit ZipfDraw(const ZipfTokens& pool) : pool_(pool) {}
  uint32_t Next(LoadRandom& random) override { return pool_.Draw(random); }

 private:
  const ZipfTokens& pool_;
};

class TextDraw : public TokenDraw {
 public:
  TextDraw(const std::vector<std::vector<uint32_t>>& texts, LoadRandom& random)
      : texts_(texts), text_(random() % texts.size()), position_(random() % texts[text_].size()) {}

  uint32_t Next(LoadRandom& random) override {
    if (position_ == texts_[text_].size()) {
      text_ = random() % texts_.size();
      position_ = 0;
    }
    return texts_[text_][position_++];
  }

 private:
  const std::vector<std::vector<uint32_t>>& texts_;
  size_t text_;
  size_t position_;
};

}  // namespace

double DrawShare(LoadRandom& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

ZipfTokens::ZipfTokens(double exponent, uint32_t vocab_size) {
  cumulative_.reserve(vocab_size);
  double sum = 0;
  for (uint32_t token = 0; token < vocab_size; ++token) {
    sum += std::pow(static_cast<double>(token) + 1, -exponent);
    cumulative_.push_back(sum);
  }
}

std::unique_ptr<TokenDraw> ZipfTokens::Begin(LoadRandom&) const { return std::make_unique<ZipfDraw>(*this); }

uint32_t ZipfTokens::Draw(LoadRandom& random) const {
  const double share = DrawShare(random) * cumulative_.back();
  const auto found = std::upper_bound(cumulative_.begin(), cumulative_.end(), share);
  // Rounding may make the share the whole sum.
  return static_cast<uint32_t>(std::min(found, cumulative_.end() - 1) - cumulative_.begin());
}

absl::StatusOr<TextTokens> TextTokens::Create(std::vector<std::vector<uint32_t>> texts, uint32_t vocab_size) {
  for (size_t text = 0; text < texts.size(); ++text) {
    for (size_t i = 0; i < texts[text].size(); ++i) {
      if (texts[text][i] < vocab_size) continue;
      return absl::InvalidArgumentError(absl::StrCat("text ", text, ": tokens[", i, "] is ", texts[text][i],
                                                     "; it must be below vocab_size ", vocab_size));
    }
  }
  texts.erase(std::remove_if(texts.begin(), texts.end(), [](const auto& text) { return text.empty(); }), texts.end());
  if (texts.empty()) return absl::InvalidArgumentError("the texts hold no tokens: at least one is needed");
  return TextTokens(std::move(texts));
}

std::unique_ptr<TokenDraw> TextTokens::Begin(LoadRandom& random) const {
  return std::make_unique<TextDraw>(texts_, random);
}

}  // namespace engram
