// Random operations against an oracle too simple to be wrong.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "server/session_store.h"
#include "tests/unit/server/session_fixture.h"
#include "tests/unit/server/session_oracle.h"

namespace engram {
namespace {

using Kind = SessionSeed::Kind;

class RandomRun {
 public:
  RandomRun(SessionLimits limits, uint64_t seed) : limits_(limits), store_(limits, kLookback), random_(seed) {}

  void Go(int operations) {
    for (int i = 0; i < operations && !::testing::Test::HasFatalFailure(); ++i) {
      SCOPED_TRACE(i);
      One();
      ASSERT_LE(store_.history_bytes(), limits_.history_bytes_max);
    }
    uses_.clear();
    for (const char* client : {"a", "b"}) {
      for (uint64_t id = 1; id <= kSessions; ++id) ASSERT_TRUE(store_.Close({client, id}, 1).ok());
    }
    EXPECT_EQ(store_.history_bytes(), 0u);
    EXPECT_EQ(store_.sessions(), 0u);
  }

  int written() const { return written_; }
  int short_of_budget() const { return short_of_budget_; }

 private:
  static constexpr uint64_t kSessions = 12;

  struct Use {
    SessionUse use;
    std::shared_ptr<OracleSession> session;
    Use(SessionUse held, std::shared_ptr<OracleSession> counted) : use(std::move(held)), session(std::move(counted)) {}
    Use(Use&&) = default;
    Use& operator=(Use&& other) noexcept {
      std::swap(use, other.use);
      session.swap(other.session);
      return *this;
    }
    ~Use() {
      if (session != nullptr) --session->steps;
    }
  };

  uint64_t Pick(uint64_t below) { return std::uniform_int_distribution<uint64_t>(0, below - 1)(random_); }
  SessionKey PickKey() { return {Pick(2) == 0 ? "a" : "b", 1 + Pick(kSessions)}; }
  Ids PickIds(size_t count) {
    Ids ids(count);
    for (int32_t& id : ids) id = static_cast<int32_t>(Pick(1000)) - 1;
    return ids;
  }

  void One() {
    const uint64_t choice = Pick(20);
    if (choice == 0) return CloseOne();
    if (choice < 8 && !uses_.empty()) {
      std::swap(uses_[Pick(uses_.size())], uses_.back());
      uses_.pop_back();
      return;
    }
    WriteOne();
  }

  void CloseOne() {
    const SessionKey key = PickKey();
    const uint64_t stream = 1 + Pick(2);
    const absl::Status status = store_.Close(key, stream);
    const absl::StatusCode expected = oracle_.Close(key, stream);
    // The store may have evicted an idle session, but one with steps in flight is never gone.
    ASSERT_EQ(status.code(), expected) << status;
  }

  SessionWrite PickWrite() {
    SessionWrite write;
    write.key = PickKey();
    write.stream_id = 1 + Pick(10) / 9;
    if (Pick(10) == 0) write.key.session_id = 0;
    const auto known = oracle_.Find(write.key);
    const uint64_t length = known == nullptr ? 0 : known->length();
    write.start_pos = Pick(3) != 0 ? length : Pick(length + 3);
    const uint64_t seed = Pick(10);
    if (seed == 0) {
      write.seed.kind = Kind::kIds;
      write.start_pos = Pick(2000);
      const uint64_t least = std::min<uint64_t>(write.start_pos, kLookback);
      write.seed.ids = PickIds(least + Pick(std::min<uint64_t>(write.start_pos - least, 400) + 1));
    } else if (seed < 3) {
      write.seed.kind = Kind::kFork;
      write.seed.fork_from = PickKey();
      const auto source = oracle_.Find(write.seed.fork_from);
      write.start_pos = source == nullptr ? Pick(5) : Pick(source->length() + 2);
    }
    return write;
  }

  void WriteOne() {
    SessionWrite write = PickWrite();
    const Ids ids = PickIds(Pick(4) == 0 ? Pick(700) : Pick(4));
    write.ids = ids;
    absl::StatusOr<SessionWritten> written = store_.Write(write);
    if (written.status().code() == absl::StatusCode::kResourceExhausted ||
        (limits_.history_bytes_max < kAmple && written.status().code() == absl::StatusCode::kFailedPrecondition)) {
      ASSERT_LT(limits_.history_bytes_max, kAmple) << written.status();
      ++short_of_budget_;  // the oracle has no budget: the store may know less than it, never something else
      return;
    }
    const OracleAnswer expected = oracle_.Write(write);
    ASSERT_EQ(written.status().code(), expected.code) << written.status();
    if (!written.ok()) return;
    ++written_;
    ASSERT_EQ(written->lookback, expected.lookback);
    ASSERT_EQ(written->tail, expected.tail);
    ASSERT_EQ(written->length, expected.length);
    if (expected.session != nullptr) uses_.emplace_back(std::move(written->use), expected.session);
    if (limits_.history_bytes_max >= kAmple) {
      ASSERT_EQ(store_.sessions(), oracle_.size());
    }
  }

 public:
  static constexpr uint64_t kAmple = uint64_t{1} << 30;

 private:
  const SessionLimits limits_;
  SessionStore store_;
  Oracle oracle_;
  std::mt19937_64 random_;
  std::vector<Use> uses_;
  int written_ = 0;
  int short_of_budget_ = 0;
};

constexpr uint64_t kSeed = 20240917;

TEST(SessionRandom, AgreesWithTheOracle) {
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  RandomRun run({.history_bytes_max = RandomRun::kAmple}, kSeed);
  run.Go(20000);
  EXPECT_GT(run.written(), 5000);
}

TEST(SessionRandom, UnderATightBudgetKnowsLessButNothingWrong) {
  for (uint64_t seed = kSeed; seed < kSeed + 3; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomRun run({.history_bytes_max = 40000, .sessions_max = 9}, seed);
    run.Go(20000);
    EXPECT_GT(run.written(), 1000);
    EXPECT_GT(run.short_of_budget(), 100);
  }
}

}  // namespace
}  // namespace engram
