#include "server/buffer_region.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "model/check.h"

namespace engram {
namespace {

size_t OrderOf(size_t bytes) { return static_cast<size_t>(std::countr_zero(bytes / BufferRegion::kPageBytes)); }

absl::Span<std::byte> WholePages(absl::Span<std::byte> memory) {
  const size_t skipped = -reinterpret_cast<uintptr_t>(memory.data()) % BufferRegion::kPageBytes;
  if (memory.size() < skipped) return {};
  return memory.subspan(skipped, (memory.size() - skipped) / BufferRegion::kPageBytes * BufferRegion::kPageBytes);
}

}  // namespace

// The pages are dealt out as the largest buffers that lie at multiples of their own size.
BufferRegion::BufferRegion(ReplyMemory memory)
    : owner_(std::move(memory.owner)), memory_(WholePages(memory.bytes)), pages_(memory_.size() / kPageBytes) {
  ENGRAM_CHECK(pages_.size() < kNone);
  first_.fill(kNone);
  for (size_t page = 0; page < pages_.size();) {
    const auto fits = static_cast<size_t>(std::bit_width(pages_.size() - page) - 1);
    const size_t order = page == 0 ? fits : std::min(fits, static_cast<size_t>(std::countr_zero(page)));
    Link(static_cast<uint32_t>(page), order);
    page += size_t{1} << order;
  }
}

std::byte* BufferRegion::Take(size_t bytes) {
  const size_t wanted = OrderOf(bytes);
  size_t order = wanted;
  while (order < kOrders && first_[order] == kNone) ++order;
  if (order >= kOrders) return nullptr;
  const uint32_t page = first_[order];
  Unlink(page);
  while (order > wanted) {
    --order;
    Link(page + (uint32_t{1} << order), order);
  }
  return memory_.data() + page * kPageBytes;
}

void BufferRegion::GiveBack(std::byte* buffer, size_t bytes) {
  auto page = static_cast<uint32_t>(static_cast<size_t>(buffer - memory_.data()) / kPageBytes);
  size_t order = OrderOf(bytes);
  for (; order + 1 < kOrders; ++order) {
    const uint32_t other_half = page ^ (uint32_t{1} << order);
    if (other_half >= pages_.size() || pages_[other_half].free_order != order) break;
    Unlink(other_half);
    page = std::min(page, other_half);
  }
  Link(page, order);
}

void BufferRegion::Link(uint32_t page, size_t order) {
  const uint32_t next = std::exchange(first_[order], page);
  pages_[page] = Page{next, kNone, static_cast<uint8_t>(order)};
  if (next != kNone) pages_[next].previous = page;
}

void BufferRegion::Unlink(uint32_t page) {
  const Page was = std::exchange(pages_[page], Page{});
  if (was.next != kNone) pages_[was.next].previous = was.previous;
  if (was.previous != kNone) {
    pages_[was.previous].next = was.next;
  } else {
    first_[was.free_order] = was.next;
  }
}

}  // namespace engram
