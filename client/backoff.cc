#include "client/backoff.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace engram {

absl::Duration BackoffCeiling(const BackoffOptions& options, uint32_t failures) {
  return std::min(options.max, options.initial * std::pow(options.multiplier, failures));
}

uint64_t JitterSeed(std::optional<uint64_t> fixed) {
  if (fixed.has_value()) return *fixed;
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

absl::Duration Backoff::Next() {
  // Not a distribution of the standard library: those may differ from one library to the next.
  const double jitter = static_cast<double>(random_() >> 11) * 0x1p-53;
  const absl::Duration wait = BackoffCeiling(options_, failures_) * jitter;
  failures_ = std::min(failures_, std::numeric_limits<uint32_t>::max() - 1) + 1;
  return wait;
}

}  // namespace engram
