// Writes one row in the form a client asked for, and the loop that does so for many with the memory latency hidden.

#ifndef ENGRAM_SHARD_ROW_WRITER_H_
#define ENGRAM_SHARD_ROW_WRITER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "shard/engine.h"

namespace engram {

// Where a row's bytes lie: head_dim codes and head_dim/32 scales.
struct RowBytes {
  const uint8_t* codes = nullptr;
  const uint8_t* scales = nullptr;
};

inline void Prefetch(const uint8_t* bytes, size_t count) {
  constexpr size_t kCacheLine = 64;
  constexpr size_t kPrefetchedMax = 1024;  // the hardware follows longer rows by itself
  for (size_t at = 0; at < std::min(count, kPrefetchedMax); at += kCacheLine) __builtin_prefetch(bytes + at);
  __builtin_prefetch(bytes + count - 1);
}

// For rows of one width. Not thread-safe (scratch).
class RowWriter {
 public:
  explicit RowWriter(uint32_t head_dim)
      : head_dim_(head_dim),
        scratch_(head_dim),
        batch_rows_(std::max<size_t>(kBatchBytes / packed_bytes(), 1)),
        batch_(batch_rows_ * packed_bytes()) {}

  uint32_t head_dim() const { return head_dim_; }
  uint32_t scales() const { return head_dim_ / kScaleBlock; }
  size_t packed_bytes() const { return head_dim_ + scales(); }
  size_t bytes(RowForm form) const { return form == RowForm::kPacked ? packed_bytes() : size_t{2} * head_dim_; }

  // bytes(form) bytes to `out`, which may be unaligned.
  void Write(RowForm form, RowBytes row, std::byte* out);

  // A row that lies packed.
  void WritePacked(RowForm form, const std::byte* packed, std::byte* out) {
    const auto* codes = reinterpret_cast<const uint8_t*>(packed);
    Write(form, {codes, codes + head_dim_}, out);
  }

  // rows[i] to the slots[i]-th row of `out`, or to the i-th where `slots` is empty. `locate(row)` gives RowBytes.
  // Nothing here owns anything: a bus error may leave it by a jump.
  template <typename Locate>
  void WriteAll(RowForm form, absl::Span<const uint64_t> rows, absl::Span<const uint32_t> slots, std::byte* out,
                const Locate& locate) {
    const size_t width = bytes(form);
    const auto place = [=](size_t i) { return out + (slots.empty() ? i : size_t{slots[i]}) * width; };
    const auto next = [&](size_t i) {
      if (i + kRowsAhead < rows.size()) PrefetchRow(locate(rows[i + kRowsAhead]));
      return locate(rows[i]);
    };
    if (form == RowForm::kPacked) {
      for (size_t i = 0; i < rows.size(); ++i) Write(form, next(i), place(i));
      return;
    }
    // To convert a row takes so many instructions that the processor, waiting for its first byte, does not get to the
    // next one. Copies are short: many of them wait at once.
    for (size_t begin = 0; begin < rows.size(); begin += batch_rows_) {
      const size_t count = std::min(batch_rows_, rows.size() - begin);
      for (size_t i = 0; i < count; ++i) Write(RowForm::kPacked, next(begin + i), batch_.data() + i * packed_bytes());
      for (size_t i = 0; i < count; ++i) WritePacked(form, batch_.data() + i * packed_bytes(), place(begin + i));
    }
  }

 private:
  static constexpr size_t kRowsAhead = 12;
  static constexpr size_t kBatchBytes = size_t{16} << 10;  // half of a first-level cache

  void PrefetchRow(RowBytes row) const {
    Prefetch(row.codes, head_dim_);
    Prefetch(row.scales, scales());
  }

  const uint32_t head_dim_;
  std::vector<uint16_t> scratch_;  // a bf16 row whose destination is odd
  const size_t batch_rows_;
  std::vector<std::byte> batch_;  // packed rows about to be converted
};

}  // namespace engram

#endif  // ENGRAM_SHARD_ROW_WRITER_H_
