// How long a client waits before it tries all its servers again.

#ifndef ENGRAM_CLIENT_BACKOFF_H_
#define ENGRAM_CLIENT_BACKOFF_H_

#include <cstdint>
#include <optional>
#include <random>

#include "absl/time/time.h"

namespace engram {

struct BackoffOptions {
  absl::Duration initial = absl::Milliseconds(100);  // longest wait after the first failure
  absl::Duration max = absl::Seconds(10);            // longest wait after any
  double multiplier = 2;                             // of the longest wait, from one failure to the next; at least 1
};

// min(max, initial * multiplier^failures): the longest wait after `failures` earlier ones.
absl::Duration BackoffCeiling(const BackoffOptions& options, uint32_t failures);

// `fixed`, or else one that no two clients have in common.
uint64_t JitterSeed(std::optional<uint64_t> fixed);

// Waits with full jitter: evenly spread over [0, ceiling), so that clients that lost their server together do not come
// back together. The same seed gives the same waits. Not thread-safe.
class Backoff {
 public:
  Backoff(const BackoffOptions& options, uint64_t seed) : options_(options), random_(seed) {}

  absl::Duration Next();
  void Reset() { failures_ = 0; }

 private:
  const BackoffOptions options_;
  std::mt19937_64 random_;
  uint32_t failures_ = 0;
};

}  // namespace engram

#endif  // ENGRAM_CLIENT_BACKOFF_H_
