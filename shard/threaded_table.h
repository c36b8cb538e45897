// A table whose gathers are shared by several threads.

#ifndef ENGRAM_SHARD_THREADED_TABLE_H_
#define ENGRAM_SHARD_THREADED_TABLE_H_

#include <memory>
#include <utility>
#include <vector>

#include "shard/gather_pool.h"
#include "shard/row_writer.h"
#include "shard/table.h"

namespace engram {

// Cuts the rows of a gather into contiguous pieces, one a thread. What is written does not depend on how many there
// are, and of several errors the one of the first piece is returned.
class ThreadedTable : public Table {
 public:
  // `table` may be asked by several threads at a time. `pool` must outlive this, and may serve several tables.
  ThreadedTable(std::unique_ptr<Table> table, uint32_t head_dim, GatherPool& pool)
      : Table(table->range()), table_(std::move(table)), writer_(head_dim), pool_(pool) {}

  absl::Status Gather(RowForm form, absl::Span<const uint64_t> rows, absl::Span<const uint32_t> slots,
                      std::byte* out) override;

 private:
  const std::unique_ptr<Table> table_;
  const RowWriter writer_;
  GatherPool& pool_;
  std::vector<absl::Status> statuses_;  // of the pieces of one gather
};

}  // namespace engram

#endif  // ENGRAM_SHARD_THREADED_TABLE_H_
