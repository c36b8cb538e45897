// Which rank is asked for which row of a round, and where each answer goes.

#ifndef ENGRAM_SHARD_ROW_PLAN_H_
#define ENGRAM_SHARD_ROW_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "model/geometry.h"
#include "model/number_formats.h"
#include "shard/engine.h"

namespace engram {

// A row on the wire: the layer's index in the top 16 bits, the row of that layer's table (below 2^48) in the rest.
inline constexpr int kLayerShift = 48;
static_assert(kLayersMax <= size_t{1} << (64 - kLayerShift));

ENGRAM_HOST_DEVICE constexpr uint64_t EntryOf(size_t layer_index, uint64_t row) {
  return uint64_t{layer_index} << kLayerShift | row;
}
ENGRAM_HOST_DEVICE constexpr size_t LayerOf(uint64_t entry) { return entry >> kLayerShift; }
ENGRAM_HOST_DEVICE constexpr uint64_t RowOf(uint64_t entry) { return entry & ((uint64_t{1} << kLayerShift) - 1); }

// The rows of a round, numbered in request order over all its blocks, sorted by owner (request order within one).
// Rebuilt each round, memory kept. Not thread-safe.
class RowPlan {
 public:
  // `rows`: of each layer's table.
  RowPlan(std::vector<uint64_t> rows, size_t ranks);

  // Every block's ids must be below its layer's rows.
  void Build(absl::Span<const RowBlock> blocks);
  // The same of some of a round's rows: entries[i] (valid) is request number requests[i], ascending.
  void Build(absl::Span<const uint64_t> entries, absl::Span<const uint32_t> requests);

  // [rows of the round]: entries()[i] is the request's row number requests()[i].
  absl::Span<const uint64_t> entries() const { return entries_; }
  absl::Span<const uint32_t> requests() const { return requests_; }

  // The part of entries() and requests() that `rank` owns: [begin(rank), begin(rank) + count(rank)).
  size_t begin(size_t rank) const { return begins_[rank]; }
  size_t count(size_t rank) const { return begins_[rank + 1] - begins_[rank]; }
  absl::Span<const uint64_t> EntriesOf(size_t rank) const { return entries().subspan(begin(rank), count(rank)); }
  absl::Span<const uint32_t> RequestsOf(size_t rank) const { return requests().subspan(begin(rank), count(rank)); }

 private:
  void CountOwners(absl::Span<const RowBlock> blocks);
  // The owners are known: makes room, and sets begins_ and cursors_.
  void OpenParts();

  const std::vector<uint64_t> parts_;  // rows of a full shard, per layer
  std::vector<size_t> begins_;         // [ranks + 1]
  std::vector<size_t> cursors_;        // [ranks]
  std::vector<uint32_t> owners_;       // [rows of the round], request order
  std::vector<uint64_t> entries_;
  std::vector<uint32_t> requests_;
};

}  // namespace engram

#endif  // ENGRAM_SHARD_ROW_PLAN_H_
