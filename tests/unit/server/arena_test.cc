// Reply buffers cut from one region.

#include "server/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "server/buffer_region.h"
#include "server/reply_memory.h"

namespace engram {
namespace {

constexpr size_t kPage = 4096;

TEST(BufferRegionTest, SplitsAndJoins) {
  BufferRegion region(*MapReplyMemory(8 * kPage));
  std::byte* const base = region.memory().data();
  ASSERT_EQ(region.memory().size(), 8 * kPage);
  EXPECT_EQ(region.Take(kPage), base);
  EXPECT_EQ(region.Take(2 * kPage), base + 2 * kPage);
  EXPECT_EQ(region.Take(4 * kPage), base + 4 * kPage);
  EXPECT_EQ(region.Take(2 * kPage), nullptr);
  EXPECT_EQ(region.Take(kPage), base + kPage);
  EXPECT_EQ(region.Take(kPage), nullptr);
  // Back in an order in which halves meet late.
  region.GiveBack(base + 2 * kPage, 2 * kPage);
  region.GiveBack(base, kPage);
  EXPECT_EQ(region.Take(4 * kPage), nullptr);
  region.GiveBack(base + 4 * kPage, 4 * kPage);
  EXPECT_EQ(region.Take(8 * kPage), nullptr);
  region.GiveBack(base + kPage, kPage);
  EXPECT_EQ(region.Take(8 * kPage), base);
  EXPECT_EQ(region.Take(kPage), nullptr);
}

TEST(BufferRegionTest, OfAnySize) {
  const ReplyMemory memory = *MapReplyMemory(9 * kPage);
  BufferRegion region({memory.bytes.subspan(100, 8 * kPage), memory.owner});  // 7 whole pages: 4 + 2 + 1
  std::byte* const base = region.memory().data();
  ASSERT_EQ(base, memory.bytes.data() + kPage);
  ASSERT_EQ(region.memory().size(), 7 * kPage);
  EXPECT_EQ(region.Take(8 * kPage), nullptr);
  EXPECT_EQ(region.Take(4 * kPage), base);
  EXPECT_EQ(region.Take(4 * kPage), nullptr);
  EXPECT_EQ(region.Take(kPage), base + 6 * kPage);
  EXPECT_EQ(region.Take(kPage), base + 4 * kPage);
  region.GiveBack(base + 6 * kPage, kPage);  // its other half would be past the end
  region.GiveBack(base + 4 * kPage, kPage);
  EXPECT_EQ(region.Take(2 * kPage), base + 4 * kPage);
  EXPECT_FALSE(region.Owns(base + 7 * kPage));
  EXPECT_TRUE(region.Owns(base + 7 * kPage - 1));
}

TEST(BufferRegionTest, TooLittleForAPage) {
  const ReplyMemory memory = *MapReplyMemory(2 * kPage);
  EXPECT_EQ(BufferRegion({memory.bytes.subspan(1, kPage), memory.owner}).Take(kPage), nullptr);
  EXPECT_EQ(BufferRegion({memory.bytes.subspan(1, 50), memory.owner}).Take(kPage), nullptr);
}

class ArenaTest : public ::testing::Test {
 protected:
  bool IsInRegion(const ArenaLease& lease) const {
    return lease.data() >= region_.data() && lease.data() + lease.size() <= region_.data() + region_.size();
  }

  ArenaTest() { arena_.AddRegion(memory_); }

  const std::shared_ptr<ByteAccount> account_ = std::make_shared<ByteAccount>(std::make_shared<Doorbell>());
  const ReplyMemory memory_ = *MapReplyMemory(16 * kPage);
  const absl::Span<std::byte> region_ = memory_.bytes;
  Arena arena_{1 << 20};
};

TEST_F(ArenaTest, OrdinaryMemoryWhenTheRegionIsUsedUp) {
  std::vector<ArenaLease> leases;
  for (int i = 0; i < 8; ++i) leases.push_back(arena_.Lease(5000, account_));  // two pages each
  for (const ArenaLease& lease : leases) EXPECT_TRUE(IsInRegion(lease));
  ArenaLease beyond = arena_.Lease(5000, account_);
  EXPECT_FALSE(IsInRegion(beyond));
  std::memset(beyond.data(), 1, beyond.size());
  EXPECT_EQ(account_->bytes(), 9 * 8192u);
  EXPECT_EQ(arena_.leased_bytes(), 9 * 8192u);
  beyond = ArenaLease();
  EXPECT_EQ(arena_.cached_bytes(), 8192u);  // that one alone
  const std::byte* freed = leases[3].data();
  leases[3] = ArenaLease();
  EXPECT_EQ(arena_.cached_bytes(), 8192u);
  EXPECT_EQ(arena_.Lease(8192, account_).data(), freed);  // before what is cached
  leases.clear();
  EXPECT_EQ(account_->bytes(), 0u);
  EXPECT_EQ(arena_.leased_bytes(), 0u);
  EXPECT_EQ(arena_.Lease(16 * kPage, account_).data(), region_.data());
}

TEST_F(ArenaTest, LargerThanTheRegion) {
  ArenaLease lease = arena_.Lease(16 * kPage + 1, account_);
  EXPECT_FALSE(IsInRegion(lease));
  std::memset(lease.data(), 1, lease.size());
}

TEST(ArenaRegion, OutlivesItsArena) {
  const auto account = std::make_shared<ByteAccount>(std::make_shared<Doorbell>());
  ArenaLease lease;
  {
    Arena arena(0);
    ReplyMemory memory = *MapReplyMemory(4 * kPage);
    std::byte* const first = memory.bytes.data();
    arena.AddRegion(std::move(memory));
    lease = arena.Lease(100, account);
    EXPECT_EQ(lease.data(), first);
  }
  std::memset(lease.data(), 1, lease.size());
  lease = ArenaLease();
  EXPECT_EQ(account->bytes(), 0u);
}

// Holds some leases filled with its own number, and looks whether they still are when it lets them go.
void LeaseAndRelease(Arena& arena, const std::shared_ptr<ByteAccount>& account, uint8_t number, int& wrong) {
  std::mt19937_64 random(number);
  std::vector<ArenaLease> leases(10);
  for (int i = 0; i < 5000; ++i) {
    ArenaLease& lease = leases[random() % leases.size()];
    const auto* bytes = reinterpret_cast<const uint8_t*>(lease.data());
    wrong += std::count(bytes, bytes + lease.size(), number) == static_cast<ptrdiff_t>(lease.size()) ? 0 : 1;
    lease = ArenaLease();
    if (random() % 4 == 0) continue;
    lease = arena.Lease(1 + random() % (kPage << random() % 4), account);
    wrong += reinterpret_cast<uintptr_t>(lease.data()) % 64 == 0 ? 0 : 1;
    std::memset(lease.data(), number, lease.size());
  }
}

TEST_F(ArenaTest, NoTwoLeasesOverlap) {
  constexpr uint8_t kThreads = 4;
  int wrong[kThreads] = {};
  std::vector<std::thread> threads;
  for (uint8_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([this, i, &wrong] { LeaseAndRelease(arena_, account_, i + 1, wrong[i]); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int count : wrong) EXPECT_EQ(count, 0);
  EXPECT_EQ(arena_.leased_bytes(), 0u);
  EXPECT_GT(arena_.cached_bytes(), 0u);  // the region was used up now and then
  EXPECT_EQ(arena_.Lease(16 * kPage, account_).data(), region_.data());
}

}  // namespace
}  // namespace engram
