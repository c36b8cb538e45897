#include "shard/table_factory.h"

#include <utility>

#include "model/check.h"
#include "model/files/errors.h"
#include "shard/gather_pool.h"
#include "shard/gpu_backend.h"
#include "shard/host_table.h"
#include "shard/mapped_table.h"
#include "shard/table_source.h"
#include "shard/threaded_table.h"

namespace engram {
namespace {

// The share of a rank behind the last row.
class EmptyTable : public Table {
 public:
  using Table::Table;
  absl::Status Gather(RowForm, absl::Span<const uint64_t>, absl::Span<const uint32_t>, std::byte*) override {
    return absl::OkStatus();
  }
};

absl::StatusOr<std::unique_ptr<Table>> MakeCpuTable(Placement placement, TableSource source, ShardRange range,
                                                    LoadMeter& meter) {
  if (placement == Placement::kHost) return HostTable::Load(std::move(source), range, meter);
  const uint64_t bytes = (range.end - range.begin) * (source.codes.width + source.scales.width);
  ENGRAM_RETURN_IF_ERROR(meter.Add(bytes));
  return MappedTable::Map(std::move(source), range);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Table>> MakeTable(Placement placement, const TableFiles& files, ShardRange range,
                                                 uint32_t head_dim, LoadMeter& meter, GpuRank* gpu, GatherPool* pool) {
  absl::StatusOr<TableSource> source = TableSource::Open(files, range, head_dim);
  if (!source.ok()) return source.status();
  if (range.begin == range.end) return std::make_unique<EmptyTable>(range);
  if (IsOnGpu(placement)) {
    ENGRAM_CHECK(gpu != nullptr);
    return gpu->LoadTable(placement, *std::move(source), range, meter);
  }
  ENGRAM_ASSIGN_OR_RETURN(std::unique_ptr<Table> table, MakeCpuTable(placement, *std::move(source), range, meter));
  if (pool == nullptr || pool->threads() == 1) return table;
  return std::make_unique<ThreadedTable>(std::move(table), head_dim, *pool);
}

}  // namespace engram
