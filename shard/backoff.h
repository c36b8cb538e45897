// Paces a loop that polls for something a peer does: spins, then yields the processor, then sleeps ever longer.

#ifndef ENGRAM_SHARD_BACKOFF_H_
#define ENGRAM_SHARD_BACKOFF_H_

#include <chrono>

namespace engram {

// How long each way of waiting lasts, counted from the start of the wait.
struct Pacing {
  std::chrono::nanoseconds spin;       // busy, for answers that are nearly there
  std::chrono::nanoseconds yield;      // then other runnable threads first: ranks may outnumber the cores
  std::chrono::nanoseconds sleep_min;  // then a sleep of elapsed/sleep_divisor, within these bounds
  std::chrono::nanoseconds sleep_max;
  int sleep_divisor;
};

// A peer is at work on this round.
inline constexpr Pacing kRoundPacing = {std::chrono::microseconds(20), std::chrono::milliseconds(1),
                                        std::chrono::microseconds(50), std::chrono::milliseconds(1), 16};

// No round is under way. Decode steps come every 20-50 ms: an idle of 25 ms sleeps 200 us at a time, 3 % of a core.
inline constexpr Pacing kIdlePacing = {std::chrono::microseconds(20), std::chrono::microseconds(60),
                                       std::chrono::microseconds(50), std::chrono::milliseconds(1), 128};

// One wait. Construct when it begins, call Pause after each poll that found nothing. Not thread-safe.
class Backoff {
 public:
  explicit Backoff(const Pacing& pacing) : pacing_(pacing), begin_(std::chrono::steady_clock::now()) {}

  void Pause();

  // True once spinning and yielding are over: from here on Pause sleeps.
  bool Sleeps() const { return Elapsed() >= pacing_.yield; }

 private:
  std::chrono::nanoseconds Elapsed() const { return std::chrono::steady_clock::now() - begin_; }

  Pacing pacing_;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace engram

#endif  // ENGRAM_SHARD_BACKOFF_H_
