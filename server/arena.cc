#include "server/arena.h"

#include <array>
#include <bit>
#include <new>
#include <vector>

#include "model/check.h"
#include "model/mutex.h"
#include "server/buffer_region.h"

namespace engram {
namespace {

constexpr size_t kSmallestClassBytes = BufferRegion::kPageBytes;
constexpr size_t kClasses = 32;
constexpr std::align_val_t kAlignment{64};

}  // namespace

void ByteAccount::Subtract(uint64_t bytes) {
  bytes_.fetch_sub(bytes);
  if (waited_for_.load() && waited_for_.exchange(false)) doorbell_->Ring();
}

bool ByteAccount::IsFull(uint64_t limit) {
  if (bytes_.load() < limit) return false;
  // Say so first, look again after: a Subtract in between either sees the flag or is seen here.
  waited_for_.store(true);
  return bytes_.load() >= limit;
}

class ArenaPool {
 public:
  explicit ArenaPool(uint64_t cached_bytes_max) : cached_bytes_max_(cached_bytes_max) {}
  ~ArenaPool() {
    for (const auto& buffers : free_) {
      for (std::byte* buffer : buffers) ::operator delete(buffer, kAlignment);
    }
  }
  ArenaPool(const ArenaPool&) = delete;
  ArenaPool& operator=(const ArenaPool&) = delete;

  static size_t CapacityFor(size_t bytes) { return std::bit_ceil(std::max(bytes, kSmallestClassBytes)); }

  std::byte* Take(size_t capacity) {
    leased_bytes_.fetch_add(capacity);
    {
      MutexLock lock(mu_);
      if (std::byte* buffer = region_ == nullptr ? nullptr : region_->Take(capacity)) return buffer;
      std::vector<std::byte*>& buffers = free_[ClassOf(capacity)];
      if (!buffers.empty()) {
        std::byte* buffer = buffers.back();
        buffers.pop_back();
        cached_bytes_ -= capacity;
        return buffer;
      }
    }
    return static_cast<std::byte*>(::operator new(capacity, kAlignment));
  }

  void GiveBack(std::byte* buffer, size_t capacity) {
    leased_bytes_.fetch_sub(capacity);
    {
      MutexLock lock(mu_);
      if (region_ != nullptr && region_->Owns(buffer)) return region_->GiveBack(buffer, capacity);
      if (cached_bytes_ + capacity <= cached_bytes_max_) {
        free_[ClassOf(capacity)].push_back(buffer);
        cached_bytes_ += capacity;
        return;
      }
    }
    ::operator delete(buffer, kAlignment);
  }

  void AddRegion(ReplyMemory memory) {
    auto region = std::make_unique<BufferRegion>(std::move(memory));
    MutexLock lock(mu_);
    ENGRAM_CHECK(region_ == nullptr);
    region_ = std::move(region);
  }

  uint64_t cached_bytes() {
    MutexLock lock(mu_);
    return cached_bytes_;
  }
  uint64_t leased_bytes() const { return leased_bytes_.load(); }

 private:
  static size_t ClassOf(size_t capacity) {
    const auto index = static_cast<size_t>(std::countr_zero(capacity / kSmallestClassBytes));
    ENGRAM_CHECK(index < kClasses);
    return index;
  }

  const uint64_t cached_bytes_max_;
  std::atomic<uint64_t> leased_bytes_{0};
  Mutex mu_;
  std::array<std::vector<std::byte*>, kClasses> free_ ABSL_GUARDED_BY(mu_);
  uint64_t cached_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  std::unique_ptr<BufferRegion> region_ ABSL_GUARDED_BY(mu_);
};

ArenaLease& ArenaLease::operator=(ArenaLease&& other) noexcept {
  if (this == &other) return *this;
  Release();
  pool_ = std::move(other.pool_);
  account_ = std::move(other.account_);
  data_ = std::exchange(other.data_, nullptr);
  size_ = std::exchange(other.size_, 0);
  capacity_ = std::exchange(other.capacity_, 0);
  return *this;
}

void ArenaLease::Release() {
  if (data_ != nullptr) pool_->GiveBack(std::exchange(data_, nullptr), capacity_);
  if (account_ != nullptr) account_->Subtract(capacity_);
  pool_.reset();
  account_.reset();
  size_ = 0;
}

void ArenaLease::ReleaseBuffer() {
  if (data_ == nullptr) return;
  pool_->GiveBack(std::exchange(data_, nullptr), capacity_);
  pool_.reset();
  size_ = 0;
  account_->Subtract(std::exchange(capacity_, kSmallestClassBytes) - kSmallestClassBytes);
}

void ArenaLease::Cut(size_t bytes) {
  ENGRAM_CHECK(bytes <= size_);
  size_ = bytes;
}

Arena::Arena(uint64_t cached_bytes_max) : pool_(std::make_shared<ArenaPool>(cached_bytes_max)) {}

ArenaLease Arena::Lease(size_t bytes, std::shared_ptr<ByteAccount> account) {
  ENGRAM_CHECK(bytes > 0);
  ArenaLease lease;
  lease.capacity_ = ArenaPool::CapacityFor(bytes);
  lease.data_ = pool_->Take(lease.capacity_);
  lease.size_ = bytes;
  lease.pool_ = pool_;
  lease.account_ = std::move(account);
  lease.account_->Add(lease.capacity_);
  return lease;
}

void Arena::AddRegion(ReplyMemory memory) { pool_->AddRegion(std::move(memory)); }

uint64_t Arena::cached_bytes() const { return pool_->cached_bytes(); }
uint64_t Arena::leased_bytes() const { return pool_->leased_bytes(); }

}  // namespace engram
