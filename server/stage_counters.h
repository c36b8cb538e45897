// What rounds cost, by stage, for any thread to read.

#ifndef ENGRAM_SERVER_STAGE_COUNTERS_H_
#define ENGRAM_SERVER_STAGE_COUNTERS_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace engram {

// kDeliver: handing frames to their streams, which may write them to a socket; on a thread of its own for large steps,
// so that it passes at the same time as the others.
enum class Stage : uint8_t { kHash, kGather, kDeliver };

// Since the start; each only grows. While a round ends a reader may find some of it and not the rest. Thread-safe.
class StageCounters {
 public:
  void AddRound() { rounds_.fetch_add(1, std::memory_order_relaxed); }
  void Add(Stage stage, uint64_t ns) { ns_[static_cast<size_t>(stage)].fetch_add(ns, std::memory_order_relaxed); }

  uint64_t rounds() const { return rounds_.load(std::memory_order_relaxed); }  // with at least one frame
  uint64_t hash_ns() const { return NsOf(Stage::kHash); }
  uint64_t gather_ns() const { return NsOf(Stage::kGather); }
  uint64_t deliver_ns() const { return NsOf(Stage::kDeliver); }

 private:
  uint64_t NsOf(Stage stage) const { return ns_[static_cast<size_t>(stage)].load(std::memory_order_relaxed); }

  std::atomic<uint64_t> rounds_{0};
  std::array<std::atomic<uint64_t>, 3> ns_{};
};

// Adds the time until it goes out of scope.
class StageTimer {
 public:
  StageTimer(StageCounters& counters, Stage stage) : counters_(counters), stage_(stage) {}
  ~StageTimer() {
    const auto passed = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start_);
    counters_.Add(stage_, static_cast<uint64_t>(passed.count()));
  }
  StageTimer(const StageTimer&) = delete;
  StageTimer& operator=(const StageTimer&) = delete;

 private:
  using Clock = std::chrono::steady_clock;

  StageCounters& counters_;
  const Stage stage_;
  const Clock::time_point start_ = Clock::now();
};

}  // namespace engram

#endif  // ENGRAM_SERVER_STAGE_COUNTERS_H_
