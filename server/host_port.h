// HOST:PORT as users write it.

#ifndef ENGRAM_SERVER_HOST_PORT_H_
#define ENGRAM_SERVER_HOST_PORT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace engram {

struct HostPort {
  std::string host;   // a name or IPv4 address, or an IPv6 address in its brackets
  uint16_t port = 0;  // 0: any free one

  std::string ToString() const;
};

// "127.0.0.1:50061", "localhost:0", "[::1]:0". INVALID_ARGUMENT naming the text and what is wrong with it: no port, a
// port above 65535, no host, an IPv6 address without brackets, characters no host has.
absl::StatusOr<HostPort> ParseHostPort(const std::string& text);

}  // namespace engram

#endif  // ENGRAM_SERVER_HOST_PORT_H_
