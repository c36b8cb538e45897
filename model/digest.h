// SHA-256 over fields, for the identities of constants and models.

#ifndef ENGRAM_MODEL_DIGEST_H_
#define ENGRAM_MODEL_DIGEST_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace engram {

// Feeds length-prefixed fields; Finish returns 32 bytes and ends the digest's life. Not thread-safe.
class Digest {
 public:
  Digest();
  ~Digest();
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;

  void AddBytes(std::string_view bytes);
  void AddNumber(uint64_t value);  // 8 bytes, little-endian
  std::string Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Lower-case hexadecimal, for logs and tools.
std::string HexOf(std::string_view bytes);

}  // namespace engram

#endif  // ENGRAM_MODEL_DIGEST_H_
