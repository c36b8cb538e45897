#include "shard/threaded_table.h"

namespace engram {

absl::Status ThreadedTable::Gather(RowForm form, absl::Span<const uint64_t> rows, absl::Span<const uint32_t> slots,
                                   std::byte* out) {
  statuses_.assign(pool_.PiecesOf(rows.size()), absl::OkStatus());
  pool_.Run(rows.size(), [&](size_t piece, size_t begin, size_t end) {
    const size_t count = end - begin;
    statuses_[piece] = slots.empty()
                           ? table_->Gather(form, rows.subspan(begin, count), slots, out + begin * writer_.bytes(form))
                           : table_->Gather(form, rows.subspan(begin, count), slots.subspan(begin, count), out);
  });
  absl::Status first;
  for (const absl::Status& status : statuses_) first.Update(status);
  return first;
}

}  // namespace engram
