#include "model/digest.h"

#include <openssl/evp.h>

#include "model/check.h"

namespace engram {

struct Digest::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { EVP_MD_CTX_free(context); }

  void Update(const void* bytes, size_t count) { ENGRAM_CHECK(EVP_DigestUpdate(context, bytes, count) == 1); }
};

Digest::Digest() : state_(std::make_unique<State>()) {
  ENGRAM_CHECK(state_->context != nullptr);
  ENGRAM_CHECK(EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) == 1);
}

Digest::~Digest() = default;

void Digest::AddBytes(std::string_view bytes) {
  AddNumber(bytes.size());  // so that ("ab", "c") and ("a", "bc") differ
  state_->Update(bytes.data(), bytes.size());
}

void Digest::AddNumber(uint64_t value) {
  unsigned char bytes[8];
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<unsigned char>(value >> (8 * i));
  state_->Update(bytes, sizeof(bytes));
}

std::string Digest::Finish() {
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned int count = 0;
  ENGRAM_CHECK(EVP_DigestFinal_ex(state_->context, bytes, &count) == 1);
  return std::string(reinterpret_cast<const char*>(bytes), count);
}

std::string HexOf(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * bytes.size());
  for (char byte : bytes) {
    const unsigned value = static_cast<unsigned char>(byte);
    hex.push_back(kDigits[value >> 4]);
    hex.push_back(kDigits[value & 15]);
  }
  return hex;
}

}  // namespace engram
