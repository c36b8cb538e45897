#include "shard/row_plan.h"

#include <algorithm>
#include <utility>

namespace engram {
namespace {

std::vector<uint64_t> PartsOf(std::vector<uint64_t> rows, size_t ranks) {
  for (uint64_t& layer_rows : rows) layer_rows = std::max<uint64_t>(ShardOf(layer_rows, 0, ranks).end, 1);
  return rows;
}

}  // namespace

RowPlan::RowPlan(std::vector<uint64_t> rows, size_t ranks)
    : parts_(PartsOf(std::move(rows), ranks)), begins_(ranks + 1), cursors_(ranks) {}

void RowPlan::Build(absl::Span<const RowBlock> blocks) {
  CountOwners(blocks);
  OpenParts();
  uint32_t request = 0;
  for (const RowBlock& block : blocks) {
    for (uint64_t row : block.ids) {
      const size_t at = cursors_[owners_[request]]++;
      entries_[at] = EntryOf(block.layer_index, row);
      requests_[at] = request++;
    }
  }
}

void RowPlan::Build(absl::Span<const uint64_t> entries, absl::Span<const uint32_t> requests) {
  owners_.clear();
  std::fill(begins_.begin(), begins_.end(), 0);
  for (const uint64_t entry : entries) {
    const auto owner = static_cast<uint32_t>(RowOf(entry) / parts_[LayerOf(entry)]);
    owners_.push_back(owner);
    ++begins_[owner + 1];
  }
  OpenParts();
  for (size_t i = 0; i < entries.size(); ++i) {
    const size_t at = cursors_[owners_[i]]++;
    entries_[at] = entries[i];
    requests_[at] = requests[i];
  }
}

void RowPlan::OpenParts() {
  for (size_t rank = 1; rank < begins_.size(); ++rank) begins_[rank] += begins_[rank - 1];
  entries_.resize(owners_.size());
  requests_.resize(owners_.size());
  std::copy(begins_.begin(), begins_.end() - 1, cursors_.begin());
}

void RowPlan::CountOwners(absl::Span<const RowBlock> blocks) {
  owners_.clear();
  std::fill(begins_.begin(), begins_.end(), 0);
  for (const RowBlock& block : blocks) {
    const uint64_t part = parts_[block.layer_index];
    for (uint64_t row : block.ids) {
      const auto owner = static_cast<uint32_t>(row / part);
      owners_.push_back(owner);
      ++begins_[owner + 1];
    }
  }
}

}  // namespace engram
