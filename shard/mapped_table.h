// MAPPED: rows straight from the checkpoint's files through the page cache; codes and scales lie apart as they do
// there.

#ifndef ENGRAM_SHARD_MAPPED_TABLE_H_
#define ENGRAM_SHARD_MAPPED_TABLE_H_

#include <atomic>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "model/mutex.h"
#include "shard/file_window.h"
#include "shard/row_writer.h"
#include "shard/table.h"
#include "shard/table_source.h"

namespace engram {

class MappedTable : public Table {
 public:
  // Maps the pages that hold the rows of `range`; reads none.
  static absl::StatusOr<std::unique_ptr<Table>> Map(TableSource source, ShardRange range);

  absl::Status Gather(RowForm form, absl::Span<const uint64_t> rows, absl::Span<const uint32_t> slots,
                      std::byte* out) override;

 private:
  MappedTable(ShardRange range, TableSource source, FileWindow codes, FileWindow scales)
      : Table(range),
        source_(std::move(source)),
        codes_(std::move(codes)),
        scales_(std::move(scales)),
        writer_(source_.codes.width) {}

  RowBytes Locate(uint64_t row) const;
  absl::Status CheckFiles() ABSL_LOCKS_EXCLUDED(checking_);
  void GatherChunk(RowForm form, absl::Span<const uint64_t> rows, absl::Span<const uint32_t> slots, std::byte* out);

  TableSource source_;
  Mutex checking_;  // CheckUnchanged keeps what it saw
  const FileWindow codes_;
  const FileWindow scales_;
  const RowWriter writer_;
  // The last chunk, of any thread, waited for the disk: the next one's pages are asked for all at once.
  std::atomic<bool> cold_ = false;
};

}  // namespace engram

#endif  // ENGRAM_SHARD_MAPPED_TABLE_H_
