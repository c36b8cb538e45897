// One stretch of memory cut into buffers of powers of two, for reply buffers that stay where they are: page-locked
// once, GPUs fill them fast.

#ifndef ENGRAM_SERVER_BUFFER_REGION_H_
#define ENGRAM_SERVER_BUFFER_REGION_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "shard/engine.h"

namespace engram {

// A buddy allocator: a buffer is split from the smallest one that is large enough, and joined again with its other half
// as soon as both are free. So nothing stays cut up once it came back. Its lists lie beside the memory, which costs
// nothing until it is used. Keeps the memory's owner. Not thread-safe.
class BufferRegion {
 public:
  static constexpr size_t kPageBytes = 4096;  // of the smallest buffer

  // Uses whole pages of it alone.
  explicit BufferRegion(ReplyMemory memory);
  BufferRegion(const BufferRegion&) = delete;
  BufferRegion& operator=(const BufferRegion&) = delete;

  absl::Span<std::byte> memory() const { return memory_; }
  bool Owns(const std::byte* buffer) const {
    return buffer >= memory_.data() && buffer < memory_.data() + memory_.size();
  }

  // `bytes`: a power of two of at least a page. Aligned to a page; null when nothing so large is free.
  std::byte* Take(size_t bytes);
  // A buffer that Take returned for `bytes`.
  void GiveBack(std::byte* buffer, size_t bytes);

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint8_t kNotFree = UINT8_MAX;
  static constexpr size_t kOrders = 32;

  // Of a free buffer's first page: its place in the list of its size.
  struct Page {
    uint32_t next = kNone;
    uint32_t previous = kNone;
    uint8_t free_order = kNotFree;  // 2^free_order pages are free from here on
  };

  void Link(uint32_t page, size_t order);
  void Unlink(uint32_t page);

  const std::shared_ptr<const void> owner_;
  const absl::Span<std::byte> memory_;
  std::vector<Page> pages_;
  std::array<uint32_t, kOrders> first_;  // free buffer of each order
};

}  // namespace engram

#endif  // ENGRAM_SERVER_BUFFER_REGION_H_
