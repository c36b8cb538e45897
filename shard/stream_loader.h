// How the rows of a shard come from a table's files to where they shall lie in this process.

#ifndef ENGRAM_SHARD_STREAM_LOADER_H_
#define ENGRAM_SHARD_STREAM_LOADER_H_

#include <vector>

#include "absl/status/status.h"
#include "shard/engine.h"
#include "shard/file_rows.h"
#include "shard/load_meter.h"
#include "shard/table_source.h"

namespace engram {

// Reads the rows of `range` (not empty) into memory of this process: past the page cache where that is possible, and
// ahead of putting them in their places, with at most 1/16 of them beside. DATA_LOSS when a file changes meanwhile,
// RESOURCE_EXHAUSTED without memory or threads; errors of LoadMeter::Add.
absl::Status LoadRows(TableSource& source, ShardRange range, RowPlaces places, LoadMeter& meter);

// Says once in the log that a file is read through the page cache although it should not be, and why.
void NoteRefusals(const std::vector<FileRows>& files, LoadMeter& meter);

}  // namespace engram

#endif  // ENGRAM_SHARD_STREAM_LOADER_H_
