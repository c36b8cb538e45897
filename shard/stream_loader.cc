#include "shard/stream_loader.h"

#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"
#include "model/files/errors.h"
#include "shard/block_load.h"

namespace engram {

absl::Status LoadRows(TableSource& source, ShardRange range, RowPlaces places, LoadMeter& meter) {
  AdviseSequential(source);
  const uint64_t rows = range.end - range.begin;
  const BlockSize size = BlockSizeFor(source, rows, kLoadThreads);
  const std::vector<FileRows> files = FilesOf(source, places, size.direct);
  ENGRAM_ASSIGN_OR_RETURN(const std::unique_ptr<BlockLoad> load, BlockLoad::Start(files, range, size.rows));
  const uint64_t row_bytes = source.codes.width + source.scales.width;
  for (uint64_t done = 0; done < rows;) {
    ENGRAM_ASSIGN_OR_RETURN(const uint64_t more, load->AwaitRows());
    if (done == 0) NoteRefusals(files, meter);
    done += more;
    ENGRAM_RETURN_IF_ERROR(meter.Add(more * row_bytes));
  }
  return source.CheckUnchanged();
}

void NoteRefusals(const std::vector<FileRows>& files, LoadMeter& meter) {
  for (const FileRows& rows : files) {
    if (rows.file->refusal() == 0) continue;
    meter.NoteOnce(absl::StrCat(rows.file->file().path(), ": rows are loaded through the page cache, O_DIRECT says: ",
                                std::strerror(rows.file->refusal())));
  }
}

}  // namespace engram
