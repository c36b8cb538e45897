#include "server/host_port.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace engram {
namespace {

constexpr size_t kHostBytesMax = 255;

absl::Status Refuse(const std::string& text, const char* what) {
  return absl::InvalidArgumentError(absl::StrCat("\"", absl::CEscape(text), "\" is no HOST:PORT: ", what));
}

bool IsName(const std::string& host) {
  return std::all_of(host.begin(), host.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == '_';
  });
}

bool IsBracketedIpv6(const std::string& host) {
  if (host.size() < 4 || host.front() != '[' || host.back() != ']') return false;
  const std::string inside = host.substr(1, host.size() - 2);
  return inside.find(':') != std::string::npos && std::all_of(inside.begin(), inside.end(), [](char c) {
           return absl::ascii_isxdigit(static_cast<unsigned char>(c)) || c == ':' || c == '.';
         });
}

}  // namespace

std::string HostPort::ToString() const { return absl::StrCat(host, ":", port); }

absl::StatusOr<HostPort> ParseHostPort(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || (!text.empty() && text.back() == ']')) return Refuse(text, "the port is missing");
  const std::string host = text.substr(0, colon);
  const std::string port = text.substr(colon + 1);
  if (host.empty()) return Refuse(text, "the host is missing (0.0.0.0 or [::] listens everywhere)");
  if (host.size() > kHostBytesMax) return Refuse(text, "the host has more than 255 bytes");
  if (host.front() == '[' ? !IsBracketedIpv6(host) : !IsName(host)) {
    return Refuse(text, "the host must be a name, an IPv4 address, or an IPv6 address in brackets");
  }
  uint32_t number = 0;
  const bool digits = !port.empty() && port.size() <= 5 && std::all_of(port.begin(), port.end(), [](char c) {
    return absl::ascii_isdigit(static_cast<unsigned char>(c));
  });
  if (!digits || !absl::SimpleAtoi(port, &number) || number > 65535) {
    return Refuse(text, "the port must be a number in [0, 65535]");
  }
  return HostPort{host, static_cast<uint16_t>(number)};
}

}  // namespace engram
