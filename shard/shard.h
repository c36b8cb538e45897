// The rows of all layers that one rank owns.

#ifndef ENGRAM_SHARD_SHARD_H_
#define ENGRAM_SHARD_SHARD_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "model/files/checkpoint.h"
#include "shard/engine.h"
#include "shard/load_meter.h"
#include "shard/table.h"

namespace engram {

class GatherPool;
class GpuRank;  // gpu_backend.h

// Loaded once; used by its rank's engine thread.
class Shard {
 public:
  // Rank `rank` of `ranks`. Errors of MakeTable, with the layer named.
  // `gpu`: where the placements are on one; `pool`: threads that gather where they are not, null for the engine thread
  // alone. Both must outlive the shard.
  static absl::StatusOr<std::unique_ptr<Shard>> Load(const Checkpoint& checkpoint, const EngineOptions& options,
                                                     GpuRank* gpu, int rank, int ranks, LoadMeter& meter,
                                                     GatherPool* pool = nullptr);

  // Packed bytes of that rank's rows, all layers.
  static uint64_t BytesOf(const Geometry& geometry, int rank, int ranks);

  const Geometry& geometry() const { return geometry_; }
  size_t RowBytes(RowForm form) const {
    return form == RowForm::kPacked ? geometry_.packed_row_bytes() : geometry_.bf16_row_bytes();
  }
  Table& table(size_t layer_index) const { return *tables_[layer_index]; }

  // Those of `entries` (EntryOf in row_plan.h, of any rank) that are ours, entries[i] in `form` to the i-th row of
  // `out`; the rows of others are left as they are. Returns how many were ours. DATA_LOSS as Table::Gather, after all
  // layers have been tried.
  absl::StatusOr<size_t> GatherOwned(RowForm form, absl::Span<const uint64_t> entries, std::byte* out);

 private:
  Shard(const Geometry& geometry, std::vector<std::unique_ptr<Table>> tables)
      : geometry_(geometry), tables_(std::move(tables)) {}

  // The owned ones among entries [begin, end), which are of one layer, into rows_ and slots_.
  void SelectOwned(absl::Span<const uint64_t> entries, size_t begin, size_t end);

  const Geometry geometry_;
  const std::vector<std::unique_ptr<Table>> tables_;  // [layers]
  std::vector<uint64_t> rows_;                        // of one Table::Gather
  std::vector<uint32_t> slots_;
};

}  // namespace engram

#endif  // ENGRAM_SHARD_SHARD_H_
