#include "tests/gpu/bench/round_source.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "tests/gpu/bench/content.h"
#include "tests/gpu/bench/device_bench.h"
#include "tests/gpu/bench/options.h"

namespace engram::bench {
namespace {

constexpr size_t kLayers = std::size(kLayerIds);
constexpr uint64_t kRowsOfALayer = kRowsOfAToken / kLayers;

// Half a million rows are more than any cache of a card holds.
uint64_t RoundsOf(uint64_t rows) { return std::clamp<uint64_t>(500'000 / rows, 4, 1000); }

}  // namespace

uint64_t RoundSource::MemoryBytes(RowForm form, uint64_t tokens, int slots) {
  return static_cast<uint64_t>(slots) * tokens * kRowsOfAToken * RowBytesOf(form);
}

RoundSource::RoundSource(const Geometry& geometry, RowForm form, uint64_t tokens, int slots, uint64_t seed,
                         absl::Span<std::byte> memory)
    : form_(form), rows_(tokens * kRowsOfAToken), slots_(static_cast<uint64_t>(slots)), memory_(memory) {
  for (uint64_t round = 0; round < RoundsOf(rows_); ++round) {
    for (size_t layer = 0; layer < kLayers; ++layer) {
      ids_.push_back(RandomIds(tokens * kRowsOfALayer, geometry.rows[layer], seed++));
    }
  }
}

absl::Span<const RowBlock> RoundSource::Next() {
  const uint64_t width = RowBytesOf(form_);
  std::byte* out = memory_.data() + next_ % slots_ * rows_ * width;
  const size_t first = next_ * kLayers % ids_.size();
  blocks_.clear();
  for (size_t layer = 0; layer < kLayers; ++layer) {
    const std::vector<uint64_t>& ids = ids_[first + layer];
    blocks_.push_back({layer, form_, ids, out});
    out += ids.size() * width;
  }
  ++next_;
  return blocks_;
}

void RoundSource::Poison() { std::memset(memory_.data(), 0xEE, slots_ * rows_ * RowBytesOf(form_)); }

absl::StatusOr<uint64_t> RoundSource::Check(bool negative_zeros) const {
  const uint64_t width = RowBytesOf(form_);
  uint64_t checked = 0;
  for (const RowBlock& block : blocks_) {
    const uint64_t layer_key = LayerKey(kSeed, kLayerIds[block.layer_index]);
    for (const uint64_t place : PlacesToCheck(block.ids.size(), 11)) {
      const std::vector<uint8_t> wanted = RowOf(layer_key, block.ids[place], form_, negative_zeros);
      ++checked;
      if (std::memcmp(block.out + place * width, wanted.data(), width) == 0) continue;
      return absl::DataLossError(absl::StrCat("row ", place, " of layer index ", block.layer_index, ", which is row ",
                                              block.ids[place], " of its table, is not what the table holds there"));
    }
  }
  return checked;
}

}  // namespace engram::bench
