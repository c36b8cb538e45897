#include "shard/block_load.h"

#include <algorithm>
#include <cstring>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/files/errors.h"

namespace engram {
namespace {

// Threads wake whoever waits for them.
constexpr absl::Duration kUntilWoken = absl::Hours(1);

// Files take turns in it.
uint64_t LargestRoom(const std::vector<FileRows>& files, uint64_t block_rows) {
  uint64_t bytes = 0;
  for (const FileRows& rows : files) bytes = std::max(bytes, rows.RoomFor(block_rows));
  return bytes;
}

// `at`: of the first of `count` rows in the shard.
void Spread(const FileRows& rows, const std::byte* from, uint64_t at, uint64_t count) {
  for (const RowPiece& piece : rows.pieces) {
    const std::byte* source = from + piece.at;
    std::byte* to = piece.to + at * piece.to_stride;
    for (uint64_t i = 0; i < count; ++i) std::memcpy(to + i * piece.to_stride, source + i * rows.stride, piece.width);
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<BlockLoad>> BlockLoad::Start(const std::vector<FileRows>& files, ShardRange range,
                                                            uint64_t block_rows) {
  ENGRAM_ASSIGN_OR_RETURN(
      AnonymousMemory memory,
      AnonymousMemory::Allocate(kLoadThreads * LargestRoom(files, block_rows), "the blocks of rows being loaded"));
  std::unique_ptr<BlockLoad> load(new BlockLoad(files, range, block_rows, std::move(memory)));
  ENGRAM_RETURN_IF_ERROR(load->StartThreads());
  return load;
}

BlockLoad::~BlockLoad() {
  {
    MutexLock lock(mu_);
    is_over_ = true;
  }
  for (std::thread& thread : threads_) thread.join();
}

absl::Status BlockLoad::StartThreads() {
  {
    MutexLock lock(mu_);
    running_ = kLoadThreads;
  }
  try {
    for (uint64_t i = 0; i < kLoadThreads; ++i) {
      std::byte* room = memory_.data() + i * (memory_.size() / kLoadThreads);
      threads_.emplace_back([this, room] { Run(room); });
    }
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(absl::StrCat("cannot start a thread that loads rows: ", error.what()));
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> BlockLoad::AwaitRows() {
  MutexLock lock(mu_);
  // After a failure until all threads have ended: one of them may fail at an earlier row.
  while (running_ > 0 && (rows_ == 0 || !failure_.ok())) reported_.WaitFor(mu_, kUntilWoken);
  if (!failure_.ok()) return failure_;
  return std::exchange(rows_, 0);
}

void BlockLoad::Run(std::byte* room) {
  while (const std::optional<uint64_t> first = Claim()) Report(*first, LoadBlock(*first, room));
  {
    MutexLock lock(mu_);
    --running_;
  }
  reported_.NotifyOne();
}

std::optional<uint64_t> BlockLoad::Claim() {
  MutexLock lock(mu_);
  if (is_over_ || next_ == range_.end) return std::nullopt;
  return std::exchange(next_, next_ + RowsFrom(next_));
}

absl::Status BlockLoad::LoadBlock(uint64_t first, std::byte* room) const {
  const uint64_t count = RowsFrom(first);
  for (const FileRows& rows : files_) {
    ENGRAM_ASSIGN_OR_RETURN(const std::byte* data, rows.Read(first, count, room));
    Spread(rows, data, first - range_.begin, count);
  }
  return absl::OkStatus();
}

void BlockLoad::Report(uint64_t first, absl::Status status) {
  {
    MutexLock lock(mu_);
    if (status.ok()) {
      rows_ += RowsFrom(first);
    } else if (is_over_ = true; first < failed_) {
      failed_ = first;
      failure_ = std::move(status);
    }
  }
  reported_.NotifyOne();
}

}  // namespace engram
