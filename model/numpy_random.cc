#include "model/numpy_random.h"

#include <array>
#include <bit>

#include "model/check.h"

namespace engram {
namespace {

constexpr size_t kPoolWords = 4;

// numpy's SeedSequence(seed) without spawn key: stirs the seed's 32-bit words into a pool and expands the pool.
class SeedSequence {
 public:
  explicit SeedSequence(uint64_t seed) {
    pool_ = {Stir(static_cast<uint32_t>(seed)), Stir(static_cast<uint32_t>(seed >> 32)), Stir(0), Stir(0)};
    for (size_t from = 0; from < kPoolWords; ++from) {
      for (size_t to = 0; to < kPoolWords; ++to) {
        if (from != to) pool_[to] = Mix(pool_[to], Stir(pool_[from]));
      }
    }
  }

  // The first four 64-bit words of generate_state.
  std::array<uint64_t, 4> State() const {
    std::array<uint64_t, 4> words{};
    uint32_t constant = 0x8b51f9ddu;
    for (size_t i = 0; i < 8; ++i) {
      uint32_t value = pool_[i % kPoolWords] ^ constant;
      constant *= 0x58f38dedu;
      value *= constant;
      value ^= value >> 16;
      words[i / 2] |= static_cast<uint64_t>(value) << (32 * (i % 2));
    }
    return words;
  }

 private:
  uint32_t Stir(uint32_t value) {
    value ^= constant_;
    constant_ *= 0x931e8875u;
    value *= constant_;
    return value ^ (value >> 16);
  }

  static uint32_t Mix(uint32_t x, uint32_t y) {
    const uint32_t mixed = 0xca01f9ddu * x - 0x4973f715u * y;
    return mixed ^ (mixed >> 16);
  }

  uint32_t constant_ = 0x43b0d7e5u;
  std::array<uint32_t, kPoolWords> pool_{};
};

constexpr Uint128 Join(uint64_t high, uint64_t low) { return (static_cast<Uint128>(high) << 64) | low; }

}  // namespace

NumpyRandom::NumpyRandom(uint64_t seed) {
  const std::array<uint64_t, 4> words = SeedSequence(seed).State();
  increment_ = (Join(words[2], words[3]) << 1) | 1;
  Step();
  state_ += Join(words[0], words[1]);
  Step();
}

void NumpyRandom::Step() { state_ = state_ * Join(0x2360ED051FC65DA4u, 0x4385DF649FCCF645u) + increment_; }

uint64_t NumpyRandom::Next64() {
  Step();
  const uint64_t high = static_cast<uint64_t>(state_ >> 64);
  return std::rotr(high ^ static_cast<uint64_t>(state_), static_cast<int>(high >> 58));
}

uint32_t NumpyRandom::Next32() {
  if (has_high_half_) {
    has_high_half_ = false;
    return high_half_;
  }
  const uint64_t drawn = Next64();
  has_high_half_ = true;
  high_half_ = static_cast<uint32_t>(drawn >> 32);
  return static_cast<uint32_t>(drawn);
}

uint64_t NumpyRandom::Bounded(uint64_t bound) {
  ENGRAM_CHECK(bound >= 1);
  if (bound == 1) return 0;
  return bound <= (uint64_t{1} << 32) ? Bounded32(bound) : Bounded64(bound);
}

// The high half of draw * bound, draws whose low half falls below 2^32 mod bound being thrown away. A bound of 2^32
// keeps every draw whole, which is what numpy does there too.
uint64_t NumpyRandom::Bounded32(uint64_t bound) {
  const uint64_t threshold = (uint64_t{1} << 32) % bound;
  uint64_t product = Next32() * bound;
  while (static_cast<uint32_t>(product) < threshold) product = Next32() * bound;
  return product >> 32;
}

uint64_t NumpyRandom::Bounded64(uint64_t bound) {
  const uint64_t threshold = (0 - bound) % bound;  // 2^64 mod bound
  Uint128 product = static_cast<Uint128>(Next64()) * bound;
  while (static_cast<uint64_t>(product) < threshold) product = static_cast<Uint128>(Next64()) * bound;
  return static_cast<uint64_t>(product >> 64);
}

}  // namespace engram
