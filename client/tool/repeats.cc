#include "client/tool/repeats.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "model/ngram_hash.h"
#include "model/unique_ids.h"

namespace engram {
namespace {

// A frame of packed rows of the released model; twice that is a round of engram-server.
constexpr size_t kWindowTokens[] = {165, 512, 4096};
constexpr size_t kDecodeSequences[] = {16, 64, 256};
constexpr size_t kDecodeSteps = 64;
constexpr double kIndexBytes = 4;  // a row

// Texts as row ids of one layer.
class HashedTexts {
 public:
  HashedTexts(const Checkpoint& checkpoint, const std::vector<TokenSequence>& texts)
      : columns_(checkpoint.geometry.columns()) {
    const NgramHasher hasher(checkpoint.geometry, checkpoint.constants);
    for (const TokenSequence& text : texts) {
      std::vector<int32_t> window;
      for (size_t i = 0; i < text.tokens.size(); ++i) {
        const bool dead = !text.mask.empty() && text.mask[i] == 0;
        window.push_back(dead ? kDead : checkpoint.constants.token_map[text.tokens[i]]);
      }
      begins_.push_back(ids_.size() / columns_);
      ids_.resize(ids_.size() + window.size() * columns_);
      hasher.Hash(0, window, 0, absl::MakeSpan(ids_).last(window.size() * columns_));
    }
    begins_.push_back(ids_.size() / columns_);
  }

  size_t texts() const { return begins_.size() - 1; }
  size_t begin(size_t text) const { return begins_[text]; }
  size_t tokens(size_t text) const { return begins_[text + 1] - begins_[text]; }
  size_t tokens() const { return begins_.back(); }
  // [count, columns]
  absl::Span<const uint64_t> Of(size_t begin, size_t count) const {
    return absl::MakeConstSpan(ids_).subspan(begin * columns_, count * columns_);
  }

 private:
  const size_t columns_;
  std::vector<uint64_t> ids_;
  std::vector<size_t> begins_;  // in tokens
};

class Counter {
 public:
  explicit Counter(const Geometry& geometry)
      : heads_(geometry.heads), columns_(geometry.columns()), orders_(geometry.max_ngram_size - 1) {}

  RepeatCounts Begin(std::string name) const {
    RepeatCounts counts;
    counts.name = std::move(name);
    counts.unique.resize(orders_);
    return counts;
  }

  // Rows of different columns are never the same, so that orders can be counted one by one.
  void Add(absl::Span<const uint64_t> ids, RepeatCounts& counts) {
    ++counts.windows;
    counts.rows += ids.size();
    counts.spent += TimeToBuild(ids);
    for (size_t i = 0; i < ids.size(); ++i) {
      if (unique_.index()[i] != seen_) continue;
      ++seen_;
      ++counts.unique[i % columns_ / heads_];
    }
    seen_ = 0;
  }

 private:
  // The shortest of a few: whatever else the machine does only adds to it.
  absl::Duration TimeToBuild(absl::Span<const uint64_t> ids) {
    auto shortest = std::chrono::steady_clock::duration::max();
    for (int i = 0; i < 3; ++i) {
      const auto start = std::chrono::steady_clock::now();
      unique_.Build(ids);
      shortest = std::min(shortest, std::chrono::steady_clock::now() - start);
    }
    return absl::FromChrono(shortest);
  }

  const size_t heads_;
  const size_t columns_;
  const size_t orders_;
  UniqueIds unique_;
  uint32_t seen_ = 0;
};

RepeatCounts CountWindows(const HashedTexts& texts, size_t window, std::string name, Counter& counter) {
  RepeatCounts counts = counter.Begin(std::move(name));
  for (size_t text = 0; text < texts.texts(); ++text) {
    for (size_t at = 0; at < texts.tokens(text); at += window) {
      counter.Add(texts.Of(texts.begin(text) + at, std::min(window, texts.tokens(text) - at)), counts);
    }
  }
  return counts;
}

RepeatCounts CountDecode(const HashedTexts& texts, size_t sequences, Counter& counter) {
  RepeatCounts counts = counter.Begin(absl::StrCat("decode, ", sequences, " sequences"));
  const size_t apart = texts.tokens() / sequences;
  std::vector<uint64_t> step;
  for (size_t at = 0; at < std::min(kDecodeSteps, apart); ++at) {
    step.clear();
    for (size_t i = 0; i < sequences; ++i) {
      const absl::Span<const uint64_t> token = texts.Of(i * apart + at, 1);
      step.insert(step.end(), token.begin(), token.end());
    }
    counter.Add(step, counts);
  }
  return counts;
}

double ShareOfBytes(double ratio, double row_bytes) { return std::min(1.0, ratio + kIndexBytes / row_bytes); }

}  // namespace

uint64_t RepeatCounts::unique_rows() const { return std::accumulate(unique.begin(), unique.end(), uint64_t{0}); }

double RepeatCounts::ratio() const {
  return rows == 0 ? 1 : static_cast<double>(unique_rows()) / static_cast<double>(rows);
}

std::vector<RepeatCounts> CountRepeats(const Checkpoint& checkpoint, const std::vector<TokenSequence>& texts) {
  const HashedTexts hashed(checkpoint, texts);
  Counter counter(checkpoint.geometry);
  size_t longest = 0;
  for (size_t text = 0; text < hashed.texts(); ++text) longest = std::max(longest, hashed.tokens(text));
  std::vector<RepeatCounts> lines;
  for (const size_t window : kWindowTokens) {
    if (window < longest) lines.push_back(CountWindows(hashed, window, absl::StrCat(window, " tokens"), counter));
  }
  if (longest > 0) lines.push_back(CountWindows(hashed, longest, "a whole text", counter));
  for (const size_t sequences : kDecodeSequences) {
    if (sequences <= hashed.tokens()) lines.push_back(CountDecode(hashed, sequences, counter));
  }
  return lines;
}

std::string RepeatTable(const std::vector<RepeatCounts>& counts, const Geometry& geometry) {
  std::string table = absl::StrFormat("%-22s %8s %11s", "window", "windows", "rows");
  for (uint32_t order = 2; order <= geometry.max_ngram_size; ++order) absl::StrAppendFormat(&table, " %4d-gram", order);
  absl::StrAppendFormat(&table, " %9s %7s %7s %7s %10s\n", "all", "PACKED", "BF16", "ns/row", "up to GB/s");
  for (const RepeatCounts& line : counts) {
    const auto of_rows = [&line](uint64_t part) { return static_cast<double>(part) / static_cast<double>(line.rows); };
    const double packed = ShareOfBytes(line.ratio(), geometry.packed_row_bytes());
    const double ns = absl::ToDoubleNanoseconds(line.spent) / static_cast<double>(line.rows);
    absl::StrAppendFormat(&table, "%-22s %8d %11d", line.name, line.windows, line.rows);
    for (const uint64_t unique : line.unique) {
      absl::StrAppendFormat(&table, " %9.3f", of_rows(unique) * static_cast<double>(line.unique.size()));
    }
    absl::StrAppendFormat(&table, " %9.3f %7.3f %7.3f %7.1f %10.1f\n", line.ratio(), packed,
                          ShareOfBytes(line.ratio(), geometry.bf16_row_bytes()), ns,
                          (1 - packed) * geometry.packed_row_bytes() / ns);
  }
  return table;
}

}  // namespace engram
