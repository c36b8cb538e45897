// Short words for tests of the configuration.

#ifndef ENGRAM_TESTS_UNIT_SERVER_CONFIG_FIXTURE_H_
#define ENGRAM_TESTS_UNIT_SERVER_CONFIG_FIXTURE_H_

#include <string>

#include "absl/status/status.h"
#include "server/config.h"

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

// The released model.
inline Geometry FullSize() {
  Geometry geometry;
  geometry.layer_ids = {1, 14};
  geometry.rows = {384006168, 384016682};
  geometry.max_ngram_size = 4;
  geometry.heads = 8;
  geometry.head_dim = 256;
  geometry.vocab_size = 129280;
  geometry.compressed_vocab_size = 99092;
  return geometry;
}

}  // namespace engram

#endif  // ENGRAM_TESTS_UNIT_SERVER_CONFIG_FIXTURE_H_
