// The engine thread's time by stage, for other threads to read.

#ifndef ENGRAM_SERVER_STAGE_COUNTERS_H_
#define ENGRAM_SERVER_STAGE_COUNTERS_H_

#include <atomic>
#include <cstdint>

#include "absl/time/time.h"

namespace engram {

// Since the start; each only grows. While a round ends a reader may find some of it and not the rest.
class StageCounters {
 public:
  // The engine thread.
  void Publish(uint64_t rounds, absl::Duration hash, absl::Duration gather, absl::Duration deliver) {
    rounds_.store(rounds, std::memory_order_relaxed);
    Store(hash_ns_, hash);
    Store(gather_ns_, gather);
    Store(deliver_ns_, deliver);
  }

  // Any thread.
  uint64_t rounds() const { return rounds_.load(std::memory_order_relaxed); }
  uint64_t hash_ns() const { return hash_ns_.load(std::memory_order_relaxed); }
  uint64_t gather_ns() const { return gather_ns_.load(std::memory_order_relaxed); }
  uint64_t deliver_ns() const { return deliver_ns_.load(std::memory_order_relaxed); }

 private:
  static void Store(std::atomic<uint64_t>& counter, absl::Duration time) {
    counter.store(static_cast<uint64_t>(absl::ToInt64Nanoseconds(time)), std::memory_order_relaxed);
  }

  std::atomic<uint64_t> rounds_{0};
  std::atomic<uint64_t> hash_ns_{0};
  std::atomic<uint64_t> gather_ns_{0};
  std::atomic<uint64_t> deliver_ns_{0};
};

}  // namespace engram

#endif  // ENGRAM_SERVER_STAGE_COUNTERS_H_
