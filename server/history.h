// The compressed ids of one sequence by position, in chunks that forks share.

#ifndef ENGRAM_SERVER_HISTORY_H_
#define ENGRAM_SERVER_HISTORY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/types/span.h"

namespace engram {

// Bytes of histories, counted for one client and for all of them together. Lives as long as something counts in it.
// Guarded by the lock of the histories.
class HistoryTally {
 public:
  // `all` counts too; null in the tally of everybody.
  explicit HistoryTally(std::shared_ptr<HistoryTally> all = nullptr) : all_(std::move(all)) {}

  uint64_t bytes() const { return bytes_; }
  void Add(uint64_t bytes) {
    bytes_ += bytes;
    if (all_ != nullptr) all_->Add(bytes);
  }
  void Subtract(uint64_t bytes) { Add(-bytes); }  // modulo 2^64

 private:
  const std::shared_ptr<HistoryTally> all_;
  uint64_t bytes_ = 0;
};

// Ids of consecutive positions. Counts itself in the tally of whoever wrote them, while it lives.
struct HistoryChunk {
  static constexpr uint64_t kTokens = 256;

  explicit HistoryChunk(std::shared_ptr<HistoryTally> counter);
  HistoryChunk(const HistoryChunk& other, std::shared_ptr<HistoryTally> counter);
  HistoryChunk(const HistoryChunk&) = delete;
  HistoryChunk& operator=(const HistoryChunk&) = delete;
  ~HistoryChunk();

  std::array<int32_t, kTokens> ids{};
  const std::shared_ptr<HistoryTally> tally;
};

// Known history [base, length) of a sequence: chunk i of `chunks_` holds positions from (first_chunk_ + i) * 256 on. A
// chunk held by several histories is copied before it is written. Not thread-safe; histories that share chunks or a
// tally need one lock.
class History {
 public:
  // What a chunk and a reference to one count for: the ids, and what shared_ptr and allocator add.
  static constexpr uint64_t kChunkBytes = sizeof(HistoryChunk) + 40;
  static constexpr uint64_t kReferenceBytes = sizeof(std::shared_ptr<HistoryChunk>);

  // Empty, at position 0. References, and chunks that it writes, are counted in `tally`.
  explicit History(std::shared_ptr<HistoryTally> tally) : tally_(std::move(tally)) {}
  History(History&& other) noexcept;
  History& operator=(History&& other) noexcept;
  ~History();

  uint64_t base() const { return base_; }      // first known position
  uint64_t length() const { return length_; }  // one past the last

  // Whether the ids of [begin, end) are known.
  bool Knows(uint64_t begin, uint64_t end) const { return begin >= end || (begin >= base_ && end <= length_); }

  // The ids of [begin, end), which must be known.
  std::vector<int32_t> Read(uint64_t begin, uint64_t end) const;

  // A history, perhaps another client's, that shares this one's chunks up to `position`, base() <= position <=
  // length().
  History ForkAt(uint64_t position, std::shared_ptr<HistoryTally> tally) const;

  // Empties it and lets it begin at `base`.
  void RestartAt(uint64_t base);

  // Makes [position, position + ids.size()) hold ids, and the length end there. base() <= position <= length().
  void WriteAt(uint64_t position, absl::Span<const int32_t> ids);

  // Forgets whole chunks that end at or before `position` <= length(), and moves the base there.
  void TrimBefore(uint64_t position);
  bool CanTrimBefore(uint64_t position) const { return ChunksBefore(position) != 0; }

  // By how much the bytes of all change when TrimBefore(trim), trim <= position, is followed by a WriteAt of `count`
  // ids.
  int64_t GrowthOf(uint64_t position, uint64_t count, uint64_t trim = 0) const;
  // By how much they fall when this history is destroyed.
  uint64_t OwnedBytes() const;
  // What it counts for besides the chunks, and these.
  uint64_t ReferenceBytes() const { return charged_; }
  absl::Span<const std::shared_ptr<HistoryChunk>> chunks() const { return chunks_; }

 private:
  // Chunks wholly before `position`, counted from the first one held.
  size_t ChunksBefore(uint64_t position) const;
  // Chunks with a position below `position`, counted alike.
  size_t ChunksUpTo(uint64_t position) const;
  uint64_t UniqueBytes(size_t begin, size_t end) const;
  void Resize(size_t chunks);  // to fewer or, with empty references, to more
  void Charge();

  std::shared_ptr<HistoryTally> tally_;
  uint64_t charged_ = 0;  // for references
  uint64_t base_ = 0;
  uint64_t length_ = 0;
  uint64_t first_chunk_ = 0;
  std::vector<std::shared_ptr<HistoryChunk>> chunks_;
};

}  // namespace engram

#endif  // ENGRAM_SERVER_HISTORY_H_
