// Reply buffers: leased to frames, given back when the transport has let go of the bytes, reused.

#ifndef ENGRAM_SERVER_ARENA_H_
#define ENGRAM_SERVER_ARENA_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "server/doorbell.h"
#include "shard/engine.h"

namespace engram {

// Bytes leased for one stream and not yet given back. Thread-safe.
class ByteAccount {
 public:
  explicit ByteAccount(std::shared_ptr<Doorbell> doorbell) : doorbell_(std::move(doorbell)) {}

  void Add(uint64_t bytes) { bytes_.fetch_add(bytes); }
  void Subtract(uint64_t bytes);
  uint64_t bytes() const { return bytes_.load(); }

  // Whether at least `limit` bytes are out. If so the doorbell rings once at the next Subtract: whoever had to wait for
  // this account hears of it, and nobody else is woken.
  bool IsFull(uint64_t limit);

 private:
  const std::shared_ptr<Doorbell> doorbell_;
  std::atomic<uint64_t> bytes_{0};
  std::atomic<bool> waited_for_{false};
};

class ArenaPool;  // arena.cc

// A leased buffer. Movable; gives its bytes back when destroyed, from any thread, also after the Arena is gone.
class ArenaLease {
 public:
  ArenaLease() = default;
  ArenaLease(ArenaLease&& other) noexcept { *this = std::move(other); }
  ArenaLease& operator=(ArenaLease&& other) noexcept;
  ~ArenaLease() { Release(); }

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  // Only the first `bytes` of it hold something: at most size(). What is charged stays.
  void Cut(size_t bytes);

  // Gives the buffer back early. The smallest buffer's bytes stay charged until the lease ends: so what waits to be
  // sent stays bounded, also without rows in it. Empty afterwards.
  void ReleaseBuffer();

 private:
  friend class Arena;
  void Release();

  std::shared_ptr<ArenaPool> pool_;
  std::shared_ptr<ByteAccount> account_;
  std::byte* data_ = nullptr;
  size_t size_ = 0;      // asked for, or cut to
  size_t capacity_ = 0;  // charged: that of the size class
};

// Hands out buffers in size classes of powers of two: from the region as long as it lasts, where there is one, else
// ordinary memory. Ordinary buffers that come back are kept for reuse up to `cached_bytes_max` (fresh megabyte buffers
// would cost a page fault every 4 KiB); the bytes in use are bounded by those who lease: each stream's ByteAccount.
// Thread-safe.
class Arena {
 public:
  explicit Arena(uint64_t cached_bytes_max);

  // `bytes` > 0, aligned to 64. Contents are undefined. Charged to `account` (the size class) until the lease ends.
  ArenaLease Lease(size_t bytes, std::shared_ptr<ByteAccount> account);

  // From now on buffers are cut from this memory first. It is kept while the arena or a lease lives. Once.
  void AddRegion(ReplyMemory memory);

  uint64_t cached_bytes() const;  // ordinary memory kept for reuse
  uint64_t leased_bytes() const;

 private:
  std::shared_ptr<ArenaPool> pool_;
};

}  // namespace engram

#endif  // ENGRAM_SERVER_ARENA_H_
