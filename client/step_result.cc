#include "client/step_result.h"

#include <bit>
#include <cstring>
#include <new>

#include "absl/strings/str_cat.h"

namespace engram {

static_assert(std::endian::native == std::endian::little, "rows and row ids are little-endian on the wire");

absl::Status StatusOfCode(int code, const std::string& message) {
  if (code == 0) return absl::OkStatus();
  constexpr int kLastCode = static_cast<int>(absl::StatusCode::kUnauthenticated);
  if (code < 0 || code > kLastCode) return absl::UnknownError(absl::StrCat("code ", code, ": ", message));
  return absl::Status(static_cast<absl::StatusCode>(code), message);
}

uint64_t LayerRows::hash_id(uint64_t token, uint32_t column) const {
  uint64_t id = 0;
  std::memcpy(&id, row(token, column).data(), sizeof(id));
  return id;
}

absl::Status LayerRows::Allocate() {
  const uint64_t size = tokens_ * token_bytes();
  auto* const bytes = new (std::nothrow) uint8_t[size];
  if (bytes == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat("no memory for ", size, " bytes of rows of layer ", layer_));
  }
  bytes_.reset(bytes);
  in_shared_memory_ = false;
  if (keep_unique_) row_index_.assign(tokens_ * columns_, kNoRow);
  return absl::OkStatus();
}

void LayerRows::Adopt(const std::shared_ptr<SegmentPlace>& place, uint64_t begin) {
  bytes_ = std::shared_ptr<uint8_t[]>(place, place->data() + begin);
  in_shared_memory_ = true;
}

absl::Status LayerRows::LeaveSharedMemory() {
  if (!in_shared_memory_) return absl::OkStatus();
  const std::shared_ptr<uint8_t[]> shared = bytes_;
  if (absl::Status status = Allocate(); !status.ok()) return status;
  std::memcpy(bytes_.get(), shared.get(), tokens_ * token_bytes());
  return absl::OkStatus();
}

void LayerRows::SetUnsent(uint64_t begin, uint64_t end) {
  constexpr int kUnsent = 0xFF;
  if (!keep_unique_) std::memset(mutable_token(begin), kUnsent, (end - begin) * token_bytes());
}

void LayerRows::Drop(uint64_t begin, uint64_t end) {
  if (keep_unique_ && !row_index_.empty()) {
    const auto first = row_index_.begin();
    row_index_.erase(first + static_cast<std::ptrdiff_t>(begin * columns_),
                     first + static_cast<std::ptrdiff_t>(end * columns_));
  } else if (bytes_ != nullptr && begin != end) {
    std::memmove(mutable_token(begin), mutable_token(end), (tokens_ - end) * token_bytes());
  }
  tokens_ -= end - begin;
}

absl::Status StepResult::segment_status(size_t index) const {
  if (index >= segments.size()) {
    return status.ok() ? absl::OutOfRangeError(absl::StrCat("segment ", index, " of ", segments.size())) : status;
  }
  return StatusOfCode(segments[index].code(), segments[index].message());
}

const LayerRows* StepResult::layer(uint32_t layer_id) const {
  for (const LayerRows& rows : layers) {
    if (rows.layer() == layer_id) return &rows;
  }
  return nullptr;
}

}  // namespace engram
