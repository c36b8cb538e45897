#include "model/files/byte_level.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace engram {
namespace {

constexpr uint32_t kAlphabetEnd = 0x144;  // one past the last code point of the alphabet
constexpr int16_t kNoByte = -1;

constexpr bool StandsForItself(uint32_t byte) {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || (byte >= 174 && byte <= 255);
}

// Code point -> byte.
constexpr std::array<int16_t, kAlphabetEnd> MakeAlphabet() {
  std::array<int16_t, kAlphabetEnd> bytes{};
  for (int16_t& byte : bytes) byte = kNoByte;
  uint32_t next = 0x100;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    bytes[StandsForItself(byte) ? byte : next++] = static_cast<int16_t>(byte);
  }
  return bytes;
}

constexpr std::array<int16_t, kAlphabetEnd> kAlphabet = MakeAlphabet();

// What may follow a lead byte: how many bytes, and the range of the first of them. No bytes: not a lead byte.
struct Lead {
  size_t following;
  uint8_t low;
  uint8_t high;
};

constexpr Lead LeadOf(uint8_t byte) {
  if (byte >= 0xC2 && byte <= 0xDF) return {1, 0x80, 0xBF};
  if (byte == 0xE0) return {2, 0xA0, 0xBF};  // below: overlong
  if (byte == 0xED) return {2, 0x80, 0x9F};  // above: surrogates
  if (byte >= 0xE1 && byte <= 0xEF) return {2, 0x80, 0xBF};
  if (byte == 0xF0) return {3, 0x90, 0xBF};  // below: overlong
  if (byte >= 0xF1 && byte <= 0xF3) return {3, 0x80, 0xBF};
  if (byte == 0xF4) return {3, 0x80, 0x8F};  // above: past U+10FFFF
  return {0, 0, 0};
}

struct Part {
  size_t bytes;  // at least 1
  bool is_valid;
};

// The longest part of `bytes` from `begin` that is one character or the beginning of one.
Part NextPart(const std::string& bytes, size_t begin) {
  const auto at = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  if (at(begin) < 0x80) return {1, true};
  Lead lead = LeadOf(at(begin));
  if (lead.following == 0) return {1, false};
  size_t end = begin + 1;
  for (size_t i = 0; i < lead.following; ++i, ++end) {
    if (end == bytes.size() || at(end) < lead.low || at(end) > lead.high) return {end - begin, false};
    lead.low = 0x80;
    lead.high = 0xBF;
  }
  return {end - begin, true};
}

}  // namespace

std::string ByteLevelBytes(const std::string& token) {
  std::string bytes;
  bytes.reserve(token.size());
  for (size_t i = 0; i < token.size();) {
    const auto lead = static_cast<uint8_t>(token[i]);
    uint32_t code_point = lead;
    if (lead >= 0x80) {
      // The alphabet ends in the two-byte range, so longer sequences need no decoding to be told apart.
      if (lead >= 0xE0 || i + 1 == token.size()) return token;
      code_point = (lead & 0x1Fu) << 6 | (static_cast<uint8_t>(token[i + 1]) & 0x3Fu);
    }
    if (code_point >= kAlphabetEnd || kAlphabet[code_point] == kNoByte) return token;
    bytes.push_back(static_cast<char>(kAlphabet[code_point]));
    i += lead < 0x80 ? 1 : 2;
  }
  return bytes;
}

std::string LossyUtf8(const std::string& bytes) {
  std::string text;
  text.reserve(bytes.size());
  for (size_t i = 0; i < bytes.size();) {
    const Part part = NextPart(bytes, i);
    text += part.is_valid ? bytes.substr(i, part.bytes) : "\xEF\xBF\xBD";
    i += part.bytes;
  }
  return text;
}

}  // namespace engram
