// Many threads on one store; every answer proves itself.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "server/session_store.h"
#include "tests/unit/server/session_fixture.h"

namespace engram {
namespace {

constexpr uint64_t kSeed = 20240917;

// The id that a session of the threaded test holds at a position, so that every answer proves itself.
int32_t IdOf(uint64_t session, uint64_t position) {
  return static_cast<int32_t>((session * 7919 + position * 31) % 1000);
}

Ids IdsOf(uint64_t session, uint64_t begin, uint64_t end) {
  Ids ids;
  for (uint64_t position = begin; position < end; ++position) ids.push_back(IdOf(session, position));
  return ids;
}

int WriteFrom(SessionStore& store, uint64_t thread) {
  std::mt19937_64 random(kSeed + thread);
  std::map<uint64_t, uint64_t> lengths;
  std::vector<SessionUse> uses;
  int wrong = 0;
  for (int i = 0; i < 3000; ++i) {
    const uint64_t session = 1 + random() % 10;  // shared by all threads
    const uint64_t start = lengths[session];
    const uint64_t count = random() % 100;
    auto written = WriteTo(store, session, start, IdsOf(session, start, start + count), {.stream_id = thread});
    if (written.ok()) {
      wrong += written->lookback != IdsOf(session, start - std::min<uint64_t>(start, kLookback), start);
      lengths[session] = written->length;
      uses.push_back(std::move(written->use));
      if (uses.size() > 4) uses.erase(uses.begin());
    } else if (written.status().code() == absl::StatusCode::kFailedPrecondition) {
      lengths[session] = 0;  // evicted, closed, or rewound by another thread
    } else {
      wrong += written.status().code() != absl::StatusCode::kAborted &&
               written.status().code() != absl::StatusCode::kResourceExhausted;
      uses.clear();
    }
    if (i % 64 == 0) wrong += store.Close({"a", session}, thread).code() == absl::StatusCode::kInternal;
  }
  return wrong;
}

TEST(SessionThreads, ShareTheStore) {
  SessionStore store({.history_bytes_max = 30000}, kLookback);
  std::vector<int> wrong(4, -1);
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < wrong.size(); ++i) {
    threads.emplace_back([&store, &wrong, i] { wrong[i] = WriteFrom(store, i + 1); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
  EXPECT_LE(store.history_bytes(), 30000u);
  for (uint64_t id = 1; id <= 10; ++id) EXPECT_TRUE(store.Close({"a", id}, 1).ok());
  EXPECT_EQ(store.history_bytes(), 0u);
}

}  // namespace
}  // namespace engram
