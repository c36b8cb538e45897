// Options for tests of the client that reconnects.

#ifndef ENGRAM_TESTS_UNIT_CLIENT_CLIENT_OPTIONS_H_
#define ENGRAM_TESTS_UNIT_CLIENT_CLIENT_OPTIONS_H_

#include <string>
#include <utility>
#include <vector>

#include "client/client.h"

namespace engram {

// Short waits, and the same ones each time.
inline ClientOptions OptionsFor(std::vector<std::string> addresses) {
  ClientOptions options;
  options.addresses = std::move(addresses);
  options.backoff = {.initial = absl::Milliseconds(1), .max = absl::Milliseconds(20), .multiplier = 2};
  options.random_seed = 1;
  return options;
}

}  // namespace engram

#endif  // ENGRAM_TESTS_UNIT_CLIENT_CLIENT_OPTIONS_H_
