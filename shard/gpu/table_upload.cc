#include "shard/gpu/table_upload.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "model/files/errors.h"
#include "shard/gpu/device_memory.h"

namespace engram {
namespace {

// Rows on their way: what is read next lies behind each other here, file after file.
struct Block {
  PinnedBuffer pinned;
  DeviceBuffer split;  // the same on the device, for files whose rows must be taken apart; else empty
  Event copied;        // of what the block held last
};

absl::StatusOr<Block> MakeBlock(int device, uint64_t bytes, bool splits) {
  Block block;
  ENGRAM_ASSIGN_OR_RETURN(block.pinned, PinnedBuffer::Allocate(device, bytes, "a block of rows being loaded"));
  ENGRAM_ASSIGN_OR_RETURN(block.split,
                          DeviceBuffer::Allocate(device, splits ? bytes : 0, "a block of rows being loaded"));
  ENGRAM_ASSIGN_OR_RETURN(block.copied, Event::Create(device));
  return block;
}

// One shard's way up. Blocks and stream are given back after whatever is still being copied.
class Upload {
 public:
  static absl::StatusOr<Upload> Prepare(std::vector<FileRows> files, uint64_t block_rows, int device) {
    const bool splits = std::any_of(files.begin(), files.end(), [](const FileRows& file) { return !file.IsInPlace(); });
    ENGRAM_ASSIGN_OR_RETURN(Stream stream, Stream::Create(device));
    Upload upload(std::move(files), block_rows, std::move(stream));
    for (Block& block : upload.blocks_) {
      ENGRAM_ASSIGN_OR_RETURN(block, MakeBlock(device, RoomFor(upload.files_, block_rows), splits));
    }
    return upload;
  }

  // Rows [first, first + rows) of the table, the shard's row number `at` and on: reads them, and begins to copy.
  absl::Status Load(uint64_t first, uint64_t at, uint64_t rows, absl::Duration copy_timeout) {
    Block& block = blocks_[turn_++ % blocks_.size()];
    ENGRAM_RETURN_IF_ERROR(block.copied.Await("the copy of a block of rows", DeadlineAfter(copy_timeout)));
    uint64_t begin = 0;
    for (const FileRows& file : files_) {
      ENGRAM_ASSIGN_OR_RETURN(const std::byte* from, file.Read(first, rows, block.pinned.data() + begin));
      ENGRAM_RETURN_IF_ERROR(file.IsInPlace() ? Copy(file, from, at, rows)
                                              : Split(file, from, block.split.data() + begin, at, rows));
      begin += file.RoomFor(block_rows_);
    }
    return block.copied.Record(stream_);
  }

  const std::vector<FileRows>& files() const { return files_; }

  absl::Status Finish(absl::Duration copy_timeout) const {
    return stream_.Await("the copy of the last rows", DeadlineAfter(copy_timeout));
  }

 private:
  Upload(std::vector<FileRows> files, uint64_t block_rows, Stream stream)
      : files_(std::move(files)), block_rows_(block_rows), stream_(std::move(stream)) {}

  // What was read, as it is.
  absl::Status Copy(const FileRows& file, const std::byte* from, uint64_t at, uint64_t rows) const {
    ENGRAM_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(file.pieces[0].to + at * file.width, from, file.BytesOf(rows),
                                                cudaMemcpyHostToDevice, stream_.get()));
    return absl::OkStatus();
  }

  // The bus moves long runs well and short ones badly: whole rows go up, and are taken apart there.
  absl::Status Split(const FileRows& file, const std::byte* from, std::byte* packed, uint64_t at, uint64_t rows) const {
    ENGRAM_RETURN_IF_CUDA_ERROR(
        cudaMemcpyAsync(packed, from, file.BytesOf(rows), cudaMemcpyHostToDevice, stream_.get()));
    for (const RowPiece& piece : file.pieces) {
      ENGRAM_RETURN_IF_CUDA_ERROR(cudaMemcpy2DAsync(piece.to + at * piece.to_stride, piece.to_stride, packed + piece.at,
                                                    file.stride, piece.width, rows, cudaMemcpyDeviceToDevice,
                                                    stream_.get()));
    }
    return absl::OkStatus();
  }

  std::vector<FileRows> files_;
  uint64_t block_rows_;
  Stream stream_;
  std::array<Block, 2> blocks_;
  size_t turn_ = 0;
};

}  // namespace

absl::Status UploadRows(TableSource& source, ShardRange range, RowPlaces places, int device, LoadMeter& meter,
                        absl::Duration copy_timeout) {
  AdviseSequential(source);
  const uint64_t row_bytes = source.codes.width + source.scales.width;
  const BlockSize size = BlockSizeFor(source, range.end - range.begin, 1);
  ENGRAM_ASSIGN_OR_RETURN(Upload upload, Upload::Prepare(FilesOf(source, places, size.direct), size.rows, device));
  for (uint64_t first = range.begin; first < range.end; first += size.rows) {
    const uint64_t rows = std::min(size.rows, range.end - first);
    ENGRAM_RETURN_IF_ERROR(upload.Load(first, first - range.begin, rows, copy_timeout));
    if (first == range.begin) NoteRefusals(upload.files(), meter);
    ENGRAM_RETURN_IF_ERROR(meter.Add(rows * row_bytes));
  }
  ENGRAM_RETURN_IF_ERROR(upload.Finish(copy_timeout));
  return source.CheckUnchanged();
}

}  // namespace engram
