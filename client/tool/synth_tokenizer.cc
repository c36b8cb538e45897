#include "client/tool/synth_tokenizer.h"

#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace engram {
namespace {

constexpr uint32_t kBeginId = 0;
constexpr uint32_t kLeadingSpaceId = 5;

// The byte-level alphabet: printable Latin-1 bytes stand for themselves, the others for U+0100 and up, in order.
uint32_t AlphabetCodePoint(uint8_t byte) {
  const auto printable = [](int b) { return (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE; };
  if (printable(byte)) return byte;
  uint32_t before = 0;
  for (int b = 0; b < byte; ++b) before += !printable(b);
  return 0x100 + before;
}

std::string ByteLevel(const std::string& text) {
  std::string encoded;
  for (const char c : text) {
    const uint32_t point = AlphabetCodePoint(static_cast<uint8_t>(c));
    if (point < 0x80) {
      encoded += static_cast<char>(point);
    } else {
      encoded += static_cast<char>(0xC0 | point >> 6);
      encoded += static_cast<char>(0x80 | (point & 0x3F));
    }
  }
  return encoded;
}

// The spellings of token ids.
class Words {
 public:
  explicit Words(const EngramConfig& config)
      : tokens_(config.geometry.vocab_size),
        classes_(config.geometry.compressed_vocab_size),
        pad_(config.pad_token_id) {}

  bool IsSpecial(uint32_t token) const { return token < classes_ && (token == pad_ || token == kBeginId); }

  std::string TextOf(uint32_t token) const {
    if (token < classes_) return ClassText(token);
    // The n-th further spelling of a class: upper case for odd n, then n/2 in base 8, each digit a combining mark.
    const uint32_t nth = (token - classes_) / classes_ + 1;
    std::string text = ClassText((token - classes_) % classes_);
    if (nth % 2 == 1) absl::AsciiStrToUpper(&text);
    for (uint32_t rest = nth / 2; rest > 0; rest /= 8) text += {'\xCC', static_cast<char>(0x80 + rest % 8)};
    return text;
  }

 private:
  std::string ClassText(uint32_t id) const {
    if (id == pad_) return "<|pad|>";
    if (id == kBeginId) return "<|begin|>";
    // Two branches of the rule that allow no further spelling, where no id folds onto them.
    if (classes_ >= 8 && tokens_ - classes_ <= classes_ - 3) {
      if (id == classes_ - 2) return "\xC3";  // half a UTF-8 sequence: keyed by its raw string
      if (id == classes_ - 3) return " ";     // one space: kept as it is
    }
    return absl::StrCat(id == kLeadingSpaceId ? " w" : "w", id);
  }

  uint32_t tokens_;
  uint32_t classes_;
  uint32_t pad_;
};

nlohmann::json AddedToken(uint32_t id, const std::string& content) {
  return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", true}};
}

nlohmann::json ByteLevelStep() {
  return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}};
}

}  // namespace

std::vector<int32_t> SynthTokenMap(const Geometry& geometry) {
  std::vector<int32_t> map(geometry.vocab_size);
  const uint32_t classes = geometry.compressed_vocab_size;
  for (uint32_t t = 0; t < geometry.vocab_size; ++t)
    map[t] = static_cast<int32_t>(t < classes ? t : (t - classes) % classes);
  return map;
}

absl::StatusOr<std::string> SynthTokenizerJson(const EngramConfig& config) {
  const uint32_t tokens = config.geometry.vocab_size;
  const uint32_t classes = config.geometry.compressed_vocab_size;
  if (classes > tokens) {
    return absl::InvalidArgumentError(absl::StrCat("engram_compressed_vocab_size ", classes, " is above vocab_size ",
                                                   tokens, ": token ids cannot make that many classes"));
  }
  const Words words(config);
  nlohmann::json vocabulary = nlohmann::json::object();
  nlohmann::json added = nlohmann::json::array();
  for (uint32_t t = 0; t < tokens; ++t) {
    const std::string text = words.TextOf(t);
    const bool last =
        t > 0 && t + 1 == tokens;  // outside the vocabulary and not byte-level, as released files have some
    if (last || words.IsSpecial(t)) added.push_back(AddedToken(t, text));
    if (!last) vocabulary[ByteLevel(text)] = t;
  }
  nlohmann::json json = {{"version", "1.0"},
                         {"truncation", nullptr},
                         {"padding", nullptr},
                         {"added_tokens", std::move(added)},
                         {"normalizer", nullptr},
                         {"pre_tokenizer", ByteLevelStep()},
                         {"post_processor", ByteLevelStep()},
                         {"decoder", ByteLevelStep()}};
  json["model"] = {{"type", "BPE"},
                   {"dropout", nullptr},
                   {"unk_token", nullptr},
                   {"continuing_subword_prefix", nullptr},
                   {"end_of_word_suffix", nullptr},
                   {"fuse_unk", false},
                   {"byte_fallback", false},
                   {"vocab", std::move(vocabulary)},
                   {"merges", nlohmann::json::array()}};
  return json.dump();
}

}  // namespace engram
