#include "shard/shard.h"

#include "absl/strings/str_cat.h"
#include "model/files/errors.h"
#include "shard/row_plan.h"
#include "shard/table_factory.h"

namespace engram {

absl::StatusOr<std::unique_ptr<Shard>> Shard::Load(const Checkpoint& checkpoint, const EngineOptions& options,
                                                   GpuRank* gpu, int rank, int ranks, LoadMeter& meter,
                                                   GatherPool* pool) {
  const Geometry& geometry = checkpoint.geometry;
  std::vector<std::unique_ptr<Table>> tables;
  for (size_t layer = 0; layer < geometry.layers(); ++layer) {
    const ShardRange range = ShardOf(geometry.rows[layer], static_cast<size_t>(rank), static_cast<size_t>(ranks));
    absl::StatusOr<std::unique_ptr<Table>> table =
        MakeTable(options.PlacementOf(layer), checkpoint.tables[layer], range, geometry.head_dim, meter, gpu, pool);
    if (!table.ok()) return Annotate(table.status(), absl::StrCat("layer ", geometry.layer_ids[layer]));
    tables.push_back(*std::move(table));
  }
  return std::unique_ptr<Shard>(new Shard(geometry, std::move(tables)));
}

uint64_t Shard::BytesOf(const Geometry& geometry, int rank, int ranks) {
  uint64_t rows = 0;
  for (uint64_t layer_rows : geometry.rows) {
    const ShardRange range = ShardOf(layer_rows, static_cast<size_t>(rank), static_cast<size_t>(ranks));
    rows += range.end - range.begin;
  }
  return rows * geometry.packed_row_bytes();
}

void Shard::SelectOwned(absl::Span<const uint64_t> entries, size_t begin, size_t end) {
  rows_.clear();
  slots_.clear();
  const Table& owned = table(LayerOf(entries[begin]));
  for (size_t i = begin; i < end; ++i) {
    const uint64_t row = RowOf(entries[i]);
    if (!owned.Owns(row)) continue;
    rows_.push_back(row);
    slots_.push_back(static_cast<uint32_t>(i));
  }
}

absl::StatusOr<size_t> Shard::GatherOwned(RowForm form, absl::Span<const uint64_t> entries, std::byte* out) {
  size_t owned = 0;
  absl::Status status;
  for (size_t begin = 0, end = 0; begin < entries.size(); begin = end) {
    const size_t layer = LayerOf(entries[begin]);
    while (end < entries.size() && LayerOf(entries[end]) == layer) ++end;
    if (layer >= tables_.size()) continue;
    SelectOwned(entries, begin, end);
    owned += rows_.size();
    if (!rows_.empty()) status.Update(table(layer).Gather(form, rows_, slots_, out));
  }
  if (!status.ok()) return status;
  return owned;
}

}  // namespace engram
