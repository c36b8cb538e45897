// What the echo service answers, so that its client can check it.

#ifndef ENGRAM_TESTS_BENCH_ECHO_ROWS_H_
#define ENGRAM_TESTS_BENCH_ECHO_ROWS_H_

#include <cstddef>
#include <cstdint>

namespace engram {

inline constexpr uint64_t kEchoTokensMax = 4096;  // of a step

// Where the rows of a token begin in the one buffer that all answers are cut from.
constexpr uint64_t EchoOffset(size_t layer_index, uint64_t token, uint64_t token_bytes) {
  return (layer_index * kEchoTokensMax + token) * token_bytes;
}

constexpr std::byte EchoByte(uint64_t offset) { return static_cast<std::byte>((offset * 0x9E3779B97F4A7C15u) >> 56); }

}  // namespace engram

#endif  // ENGRAM_TESTS_BENCH_ECHO_ROWS_H_
