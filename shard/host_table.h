// HOST: rows in this process's memory, packed, on huge pages.

#ifndef ENGRAM_SHARD_HOST_TABLE_H_
#define ENGRAM_SHARD_HOST_TABLE_H_

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "shard/anonymous_memory.h"
#include "shard/load_meter.h"
#include "shard/row_writer.h"
#include "shard/table.h"
#include "shard/table_source.h"

namespace engram {

class HostTable : public Table {
 public:
  // Reads the rows of `range` in large blocks. The peak is the shard and at most 1/16 of it beside.
  // RESOURCE_EXHAUSTED when they do not fit in memory, DATA_LOSS when a file changes meanwhile.
  static absl::StatusOr<std::unique_ptr<Table>> Load(TableSource source, ShardRange range, LoadMeter& meter);

  absl::Status Gather(RowForm form, absl::Span<const uint64_t> rows, absl::Span<const uint32_t> slots,
                      std::byte* out) override;

  // [end - begin, packed_row_bytes]: for benchmarks, which copy them without us.
  const std::byte* packed_rows() const { return memory_.data(); }

 private:
  HostTable(ShardRange range, uint32_t head_dim, AnonymousMemory memory)
      : Table(range), memory_(std::move(memory)), writer_(head_dim) {}

  const AnonymousMemory memory_;  // [end - begin, packed_row_bytes]
  const RowWriter writer_;
};

}  // namespace engram

#endif  // ENGRAM_SHARD_HOST_TABLE_H_
