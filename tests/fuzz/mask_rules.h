// Tokens and masks as mask_fuzz reads them, the rules they must keep, and the row ids they have by definition.

#ifndef ENGRAM_TESTS_FUZZ_MASK_RULES_H_
#define ENGRAM_TESTS_FUZZ_MASK_RULES_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz_input.h"
#include "tests/unit/server/tiny_model.h"

namespace engram {

using Ids = std::vector<int32_t>;
using RowIds = std::vector<uint64_t>;

inline constexpr size_t kTokensMax = 600;  // more than two chunks of history

// Tokens with their mask: what the input asks for.
struct Tokens {
  std::vector<uint32_t> ids;
  std::string mask;

  Tokens Slice(size_t begin, size_t end) const {
    return {{ids.begin() + static_cast<ptrdiff_t>(begin), ids.begin() + static_cast<ptrdiff_t>(end)},
            mask.empty() ? "" : mask.substr(begin, end - begin)};
  }
};

inline Tokens ReadTokens(FuzzInput& input) {
  const uint8_t relation = input.Byte() % 4;
  const uint8_t other_length = input.Byte();
  Tokens tokens;
  while (!input.empty() && tokens.ids.size() < kTokensMax) {
    const uint8_t byte = input.Byte();
    const uint32_t id = byte & 0x3F;  // 40 and above are no tokens
    tokens.ids.push_back(id == 0x3F ? ~uint32_t{0} : id);
    tokens.mask += static_cast<char>(byte >> 6 == 3 ? 2 : (byte >> 6) != 0);
  }
  if (relation == 1) tokens.mask.clear();
  if (relation == 2) tokens.mask.resize(other_length, '\1');
  if (relation == 3) std::replace(tokens.mask.begin(), tokens.mask.end(), '\2', '\1');
  return tokens;
}

// The rules of Segment.token_ids and token_mask. Fills `compressed` where they hold.
inline bool Allowed(const Tokens& tokens, Ids& compressed) {
  if (!tokens.mask.empty() && tokens.mask.size() != tokens.ids.size()) return false;
  for (size_t i = 0; i < tokens.ids.size(); ++i) {
    const char mask = tokens.mask.empty() ? '\1' : tokens.mask[i];
    if (mask != 0 && (mask != 1 || tokens.ids[i] >= 40)) return false;
    compressed.push_back(mask == 0 ? kDead : static_cast<int32_t>(tokens.ids[i] % 20));
  }
  return true;
}

// The definition: look-back is the pad from where it leaves the sequence or meets a dead position.
inline void AppendRowIds(const TinyServer& tiny, size_t layer, const Ids& ids, size_t position, RowIds& out) {
  const Geometry& geometry = tiny.geometry;
  const HashConstants& constants = tiny.constants;
  uint64_t hash = 0;
  bool blocked = false;
  for (uint32_t shift = 0; shift < geometry.max_ngram_size; ++shift) {
    blocked = blocked || position < shift || ids[position - shift] == kDead;
    const int32_t id = blocked ? constants.pad_id : ids[position - shift];
    hash ^= static_cast<uint64_t>(id) * static_cast<uint64_t>(constants.multipliers[layer * 4 + shift]);
    for (uint32_t head = 0; shift > 0 && head < geometry.heads; ++head) {
      const size_t column = layer * geometry.columns() + (shift - 1) * geometry.heads + head;
      out.push_back(hash % static_cast<uint64_t>(constants.primes[column]) +
                    static_cast<uint64_t>(constants.offsets[column]));
    }
  }
}

inline RowIds Defined(const TinyServer& tiny, size_t layer, const Ids& ids, size_t begin, size_t end,
                      bool omit_masked) {
  RowIds rows;
  for (size_t at = begin; at < end; ++at) {
    if (!omit_masked || ids[at] != kDead) AppendRowIds(tiny, layer, ids, at, rows);
  }
  return rows;
}

}  // namespace engram

#endif  // ENGRAM_TESTS_FUZZ_MASK_RULES_H_
