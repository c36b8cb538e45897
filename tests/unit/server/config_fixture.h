// Short words for tests of the configuration.

#ifndef ENGRAM_TESTS_UNIT_SERVER_CONFIG_FIXTURE_H_
#define ENGRAM_TESTS_UNIT_SERVER_CONFIG_FIXTURE_H_

#include <string>

#include "absl/status/status.h"
#include "server/config.h"
#include "tests/unit/model/full_size.h"

namespace engram {

inline std::string Message(const absl::Status& status) { return std::string(status.message()); }

inline v1::ServerConfig Defaults() {
  v1::ServerConfig config;
  FillDefaults(config);
  return config;
}

// A text that is refused, and a part of what is said.
struct BadText {
  const char* text;
  const char* message;
};

}  // namespace engram

#endif  // ENGRAM_TESTS_UNIT_SERVER_CONFIG_FIXTURE_H_
