// The one place that knows the placements.

#ifndef ENGRAM_SHARD_TABLE_FACTORY_H_
#define ENGRAM_SHARD_TABLE_FACTORY_H_

#include <memory>

#include "absl/status/statusor.h"
#include "shard/load_meter.h"
#include "shard/table.h"

namespace engram {

class GatherPool;
class GpuRank;  // gpu_backend.h

// Rows `range` of the table in `files`, where `placement` says; `gpu` for those on a GPU; the others
// are gathered by the threads of `pool`, which must outlive them, or by the caller's alone. Errors of TableSource::Open
// and of the placement.
absl::StatusOr<std::unique_ptr<Table>> MakeTable(Placement placement, const TableFiles& files, ShardRange range,
                                                 uint32_t head_dim, LoadMeter& meter, GpuRank* gpu = nullptr,
                                                 GatherPool* pool = nullptr);

}  // namespace engram

#endif  // ENGRAM_SHARD_TABLE_FACTORY_H_
