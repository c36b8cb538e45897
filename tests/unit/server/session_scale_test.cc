// A full house: sessions of a million positions, ten thousand of them, and what the count of bytes says about the
// memory they really take.

#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdint>
#include <cstdio>

#include "server/history.h"
#include "server/session_store.h"
#include "tests/unit/server/session_fixture.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ENGRAM_OWN_MALLOC 1
#endif

namespace engram {
namespace {

constexpr uint64_t kSession = 512;

uint64_t HeapBytes() {
  const struct mallinfo2 heap = mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

// The store's count against the growth of the heap since `before`: never less than 0.9 of the truth, and no more than
// 1.5 times as much.
void ExpectHonest(const SessionStore& store, uint64_t before) {
#ifdef ENGRAM_OWN_MALLOC
  (void)before;
  std::printf("%llu bytes counted; the heap is not looked at: the sanitizer has an allocator of its own\n",
              static_cast<unsigned long long>(store.history_bytes()));
#else
  const double ratio = static_cast<double>(store.history_bytes()) / static_cast<double>(HeapBytes() - before);
  std::printf("counted %.1f MiB, %.3f of the heap's growth\n", static_cast<double>(store.history_bytes()) / (1 << 20),
              ratio);
  EXPECT_GE(ratio, 0.9);
  EXPECT_LE(ratio, 1.5);
#endif
}

TEST(SessionScale, AMillionPositionsStayAddressable) {
  constexpr int32_t kTokens = 1 << 20;
  constexpr int32_t kStep = 65536;
  SessionStore store(SessionLimits{}, kLookback);
  const uint64_t before = HeapBytes();
  for (int32_t begin = 0; begin < kTokens; begin += kStep) {
    const auto written = WriteTo(store, 1, static_cast<uint64_t>(begin), IdsFrom(begin, kStep));
    ASSERT_TRUE(written.ok()) << written.status();
  }
  EXPECT_EQ(store.history_bytes(), kSession + 4096 * (History::kChunkBytes + History::kReferenceBytes));
  ExpectHonest(store, before);

  const auto rewound = WriteTo(store, 1, 777'777, {5});  // whatever the depth
  ASSERT_TRUE(rewound.ok()) << rewound.status();
  EXPECT_EQ(rewound->lookback, Ids({777'774, 777'775, 777'776}));
  EXPECT_EQ(rewound->length, 777'778u);
  ASSERT_TRUE(WriteTo(store, 1, 0, {}).ok());
  EXPECT_EQ(store.history_bytes(), kSession);
}

TEST(SessionScale, TenThousandSessionsKeepTheirOwn) {
  constexpr uint64_t kSessions = 10'000;
  SessionStore store(SessionLimits{}, kLookback);
  const uint64_t before = HeapBytes();
  for (uint64_t id = 1; id <= kSessions; ++id) {
    ASSERT_TRUE(WriteTo(store, id, 0, IdsFrom(static_cast<int32_t>(id), 600)).ok());
  }
  EXPECT_EQ(store.sessions(), kSessions);
  EXPECT_EQ(store.history_bytes(), kSessions * (kSession + 3 * History::kChunkBytes + 4 * History::kReferenceBytes));
  ExpectHonest(store, before);
  for (uint64_t id = 1; id <= kSessions; ++id) {
    const auto written = WriteTo(store, id, 600, {7});
    ASSERT_TRUE(written.ok()) << written.status();
    const auto last = static_cast<int32_t>(id) + 599;
    ASSERT_EQ(written->lookback, Ids({last - 2, last - 1, last}));
  }
  for (uint64_t id = 1; id <= kSessions; ++id) ASSERT_TRUE(store.Close({"a", id}, 1).ok());
  EXPECT_EQ(store.history_bytes(), 0u);
}

}  // namespace
}  // namespace engram
