// Writes one row in the form a client asked for, and the loop that does so for many with the memory latency hidden.

#ifndef ENGRAM_SHARD_ROW_WRITER_H_
#define ENGRAM_SHARD_ROW_WRITER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "shard/engine.h"

namespace engram {

// Where a row's bytes lie: head_dim codes and head_dim/32 scales.
struct RowBytes {
  const uint8_t* codes = nullptr;
  const uint8_t* scales = nullptr;
};

// Always inlined: GCC takes a function that only prefetches for one without effect, and leaves out calls of it.
[[gnu::always_inline]] inline void Prefetch(const uint8_t* bytes, size_t count) {
  constexpr size_t kCacheLine = 64;
  constexpr size_t kPrefetchedMax = 1024;  // the hardware follows longer rows by itself
  for (size_t at = 0; at < std::min(count, kPrefetchedMax); at += kCacheLine) __builtin_prefetch(bytes + at);
  __builtin_prefetch(bytes + count - 1);
}

// For rows of one width. Thread-safe.
class RowWriter {
 public:
  explicit RowWriter(uint32_t head_dim) : head_dim_(head_dim) {}

  uint32_t head_dim() const { return head_dim_; }
  uint32_t scales() const { return head_dim_ / kScaleBlock; }
  size_t packed_bytes() const { return head_dim_ + scales(); }
  size_t bytes(RowForm form) const { return form == RowForm::kPacked ? packed_bytes() : size_t{2} * head_dim_; }

  // bytes(form) bytes to `out`, which may be unaligned.
  void Write(RowForm form, RowBytes row, std::byte* out) const;

  // A row that lies packed.
  void WritePacked(RowForm form, const std::byte* packed, std::byte* out) const {
    const auto* codes = reinterpret_cast<const uint8_t*>(packed);
    Write(form, {codes, codes + head_dim_}, out);
  }

  // rows[i] to the slots[i]-th row of `out`, or to the i-th where `slots` is empty. `locate(row)` gives RowBytes.
  // Nothing here owns anything: a bus error may leave it by a jump.
  template <typename Locate>
  void WriteAll(RowForm form, absl::Span<const uint64_t> rows, absl::Span<const uint32_t> slots, std::byte* out,
                const Locate& locate) const {
    const size_t width = bytes(form);
    PrefetchRows(rows, 0, kRowsAhead, locate);
    for (size_t begin = 0; begin < rows.size(); begin += kBurstRows) {
      PrefetchRows(rows, begin + kRowsAhead, kBurstRows, locate);
      const size_t end = std::min(begin + kBurstRows, rows.size());
      for (size_t i = begin; i < end; ++i) {
        Write(form, locate(rows[i]), out + (slots.empty() ? i : size_t{slots[i]}) * width);
      }
    }
  }

 private:
  // How both were found: docs/gather.md. A row of 264 bytes is 5 cache lines.
  static constexpr size_t kBurstRows = 4;  // asked for at once, so that their waits overlap, then written
  static constexpr size_t kRowsAhead = 8;

  template <typename Locate>
  [[gnu::always_inline]] void PrefetchRows(absl::Span<const uint64_t> rows, size_t begin, size_t count,
                                           const Locate& locate) const {
    for (size_t i = begin; i < std::min(begin + count, rows.size()); ++i) {
      const RowBytes row = locate(rows[i]);
      Prefetch(row.codes, head_dim_);
      Prefetch(row.scales, scales());
    }
  }

  const uint32_t head_dim_;
};

}  // namespace engram

#endif  // ENGRAM_SHARD_ROW_WRITER_H_
