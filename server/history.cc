#include "server/history.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

namespace engram {
namespace {

constexpr uint64_t kTokens = HistoryChunk::kTokens;

// Capacity is a function of the size alone, so that what a change costs is known before it is made.
size_t CapacityFor(size_t chunks) { return chunks == 0 ? 0 : std::bit_ceil(std::max<size_t>(chunks, 2)); }

uint64_t ReferencesBytes(size_t chunks) { return CapacityFor(chunks) * History::kReferenceBytes; }

}  // namespace

HistoryChunk::HistoryChunk(std::shared_ptr<HistoryTally> counter) : tally(std::move(counter)) {
  tally->Add(History::kChunkBytes);
}

HistoryChunk::HistoryChunk(const HistoryChunk& other, std::shared_ptr<HistoryTally> counter)
    : ids(other.ids), tally(std::move(counter)) {
  tally->Add(History::kChunkBytes);
}

HistoryChunk::~HistoryChunk() { tally->Subtract(History::kChunkBytes); }

History::History(History&& other) noexcept : tally_(other.tally_) { *this = std::move(other); }

History& History::operator=(History&& other) noexcept {
  tally_.swap(other.tally_);
  std::swap(charged_, other.charged_);
  std::swap(base_, other.base_);
  std::swap(length_, other.length_);
  std::swap(first_chunk_, other.first_chunk_);
  std::swap(chunks_, other.chunks_);
  return *this;
}

History::~History() {
  // An empty one may end outside the lock that guards the counter.
  if (charged_ != 0) tally_->Subtract(charged_);
}

size_t History::ChunksBefore(uint64_t position) const {
  const uint64_t chunk = position / kTokens;
  return chunk <= first_chunk_ ? 0 : std::min<size_t>(chunk - first_chunk_, chunks_.size());
}

size_t History::ChunksUpTo(uint64_t position) const {
  const uint64_t chunks = (position + kTokens - 1) / kTokens;
  return chunks <= first_chunk_ ? 0 : std::min<size_t>(chunks - first_chunk_, chunks_.size());
}

std::vector<int32_t> History::Read(uint64_t begin, uint64_t end) const {
  std::vector<int32_t> ids;
  ids.reserve(end - begin);
  while (begin < end) {
    const uint64_t at = begin % kTokens;
    const uint64_t count = std::min(end - begin, kTokens - at);
    const HistoryChunk& chunk = *chunks_[begin / kTokens - first_chunk_];
    ids.insert(ids.end(), chunk.ids.begin() + static_cast<ptrdiff_t>(at),
               chunk.ids.begin() + static_cast<ptrdiff_t>(at + count));
    begin += count;
  }
  return ids;
}

History History::ForkAt(uint64_t position, std::shared_ptr<HistoryTally> tally) const {
  History fork(std::move(tally));
  fork.RestartAt(base_);
  fork.first_chunk_ = first_chunk_;
  const size_t shared = ChunksUpTo(position);
  fork.Resize(shared);
  std::copy_n(chunks_.begin(), shared, fork.chunks_.begin());
  fork.length_ = position;
  return fork;
}

void History::RestartAt(uint64_t base) {
  Resize(0);
  base_ = length_ = base;
  first_chunk_ = base / kTokens;
}

void History::WriteAt(uint64_t position, absl::Span<const int32_t> ids) {
  const size_t kept = ChunksUpTo(position);
  const uint64_t end = position + ids.size();
  Resize(kept);
  Resize(ids.empty() ? kept : static_cast<size_t>((end + kTokens - 1) / kTokens - first_chunk_));
  for (size_t i = kept; i < chunks_.size(); ++i) chunks_[i] = std::make_shared<HistoryChunk>(tally_);
  for (uint64_t done = 0; done < ids.size();) {
    std::shared_ptr<HistoryChunk>& chunk = chunks_[(position + done) / kTokens - first_chunk_];
    if (chunk.use_count() > 1) chunk = std::make_shared<HistoryChunk>(*chunk, tally_);
    const uint64_t at = (position + done) % kTokens;
    const uint64_t count = std::min(ids.size() - done, kTokens - at);
    std::copy_n(ids.begin() + done, count, chunk->ids.begin() + at);
    done += count;
  }
  length_ = end;
}

int64_t History::GrowthOf(uint64_t position, uint64_t count, uint64_t trim) const {
  const size_t kept = ChunksUpTo(position);
  const size_t dropped = ChunksBefore(trim);
  uint64_t added = 0;
  size_t size = kept;
  if (count != 0) {
    size = static_cast<size_t>((position + count + kTokens - 1) / kTokens - first_chunk_);
    added = size - kept;
    const bool continues = position % kTokens != 0 && kept != 0;
    if (continues && chunks_[kept - 1].use_count() > 1) ++added;  // copied before it is written
  }
  const uint64_t after = added * kChunkBytes + ReferencesBytes(size - dropped);
  const uint64_t before = UniqueBytes(0, dropped) + UniqueBytes(kept, chunks_.size()) + ReferencesBytes(chunks_.size());
  return static_cast<int64_t>(after) - static_cast<int64_t>(before);
}

uint64_t History::UniqueBytes(size_t begin, size_t end) const {
  uint64_t bytes = 0;
  for (size_t i = begin; i < end; ++i) bytes += chunks_[i].use_count() == 1 ? kChunkBytes : 0;
  return bytes;
}

uint64_t History::OwnedBytes() const { return UniqueBytes(0, chunks_.size()) + ReferencesBytes(chunks_.size()); }

void History::TrimBefore(uint64_t position) {
  const size_t dropped = ChunksBefore(position);
  if (dropped == 0) return;
  first_chunk_ += dropped;
  base_ = std::max(base_, first_chunk_ * kTokens);
  chunks_.erase(chunks_.begin(), chunks_.begin() + static_cast<ptrdiff_t>(dropped));
  Charge();
}

void History::Resize(size_t chunks) {
  if (chunks > chunks_.size()) chunks_.reserve(CapacityFor(chunks));
  chunks_.resize(chunks);
  Charge();
}

void History::Charge() {
  if (chunks_.capacity() > CapacityFor(chunks_.size())) {
    std::vector<std::shared_ptr<HistoryChunk>> tight;
    tight.reserve(CapacityFor(chunks_.size()));
    std::move(chunks_.begin(), chunks_.end(), std::back_inserter(tight));
    chunks_.swap(tight);
  }
  tally_->Add(ReferencesBytes(chunks_.size()) - charged_);  // modulo 2^64: it may be less
  charged_ = ReferencesBytes(chunks_.size());
}

}  // namespace engram
