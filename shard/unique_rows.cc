#include "shard/unique_rows.h"

#include <cstring>

#include "shard/row_plan.h"

namespace engram {
namespace {

// An entry with the form beside the layer, which leaves the top bit free.
constexpr uint64_t kBf16Bit = uint64_t{1} << 63;
static_assert(EntryOf(kLayersMax - 1, 0) < kBf16Bit);

}  // namespace

void UniqueRows::NumberRows(absl::Span<const RowBlock> blocks) {
  keys_.clear();
  for (const RowBlock& block : blocks) {
    const uint64_t form = block.form == RowForm::kBf16 ? kBf16Bit : 0;
    for (const uint64_t row : block.ids) keys_.push_back(EntryOf(block.layer_index, row) | form);
  }
  unique_.Build(keys_);
}

void UniqueRows::Find(absl::Span<const RowBlock> blocks) {
  NumberRows(blocks);
  entries_.clear();
  firsts_.clear();
  places_.clear();
  copies_.clear();
  uint32_t request = 0;
  for (const RowBlock& block : blocks) {
    const size_t bytes = writer_.bytes(block.form);
    std::byte* out = block.out;
    for (size_t i = 0; i < block.ids.size(); ++i, ++request, out += bytes) {
      const uint32_t number = unique_.index()[request];
      if (number != firsts_.size()) {
        copies_.push_back({places_[number], out, bytes});
        continue;
      }
      entries_.push_back(keys_[request] & ~kBf16Bit);
      firsts_.push_back(request);
      places_.push_back(out);
    }
  }
}

void UniqueRows::CopyRepeats() const {
  for (const Copy& copy : copies_) std::memcpy(copy.to, copy.from, copy.bytes);
}

}  // namespace engram
