// The rows of a shard from their files into device memory.

#ifndef ENGRAM_SHARD_GPU_TABLE_UPLOAD_H_
#define ENGRAM_SHARD_GPU_TABLE_UPLOAD_H_

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "shard/load_meter.h"
#include "shard/stream_loader.h"
#include "shard/table_source.h"

namespace engram {

// Rows `range` (not empty) of `source` to `places` in the memory of `device`, through two pinned blocks: one is
// read from the files while the other is copied, each of 8 MiB and 1/16 of the rows at most. Nothing else of the rows
// is on the host.
//
// RESOURCE_EXHAUSTED without memory for the blocks, DATA_LOSS when a file changes meanwhile, UNAVAILABLE when a copy is
// not done `copy_timeout` after it is waited for; errors of LoadMeter::Add.
absl::Status UploadRows(TableSource& source, ShardRange range, RowPlaces places, int device, LoadMeter& meter,
                        absl::Duration copy_timeout);

}  // namespace engram

#endif  // ENGRAM_SHARD_GPU_TABLE_UPLOAD_H_
