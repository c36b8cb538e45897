// One rank's rows of one layer.

#ifndef ENGRAM_SHARD_TABLE_H_
#define ENGRAM_SHARD_TABLE_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "shard/engine.h"

namespace engram {

struct DeviceRows;  // shard/gpu/device_rows.h

// Rows [begin, end) of a table, wherever the placement keeps them. Loaded once, read for life; used by the engine
// thread of its rank, and those on CPUs by the threads that help it to gather. Rows outside the range (the padding of a
// short last shard) are never read.
class Table {
 public:
  explicit Table(ShardRange range) : range_(range) {}
  virtual ~Table() = default;
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  ShardRange range() const { return range_; }
  bool Owns(uint64_t row) const { return row >= range_.begin && row < range_.end; }

  // Where a GPU finds the rows; null when no GPU does.
  virtual const DeviceRows* device_rows() const { return nullptr; }

  // Writes rows[i] (ids of the whole table, all owned) in `form` to the slots[i]-th row of `out`, or to the i-th where
  // `slots` is empty. DATA_LOSS when the file behind the rows changed; the rows written are undefined then. Tables on
  // CPUs may be asked by several threads at a time, each with rows of its own.
  virtual absl::Status Gather(RowForm form, absl::Span<const uint64_t> rows, absl::Span<const uint32_t> slots,
                              std::byte* out) = 0;

 private:
  const ShardRange range_;
};

}  // namespace engram

#endif  // ENGRAM_SHARD_TABLE_H_
