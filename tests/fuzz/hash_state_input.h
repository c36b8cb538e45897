// How hash_state_fuzz reads a segment off its input: mostly right, now and then wrong in one way.

#ifndef ENGRAM_TESTS_FUZZ_HASH_STATE_INPUT_H_
#define ENGRAM_TESTS_FUZZ_HASH_STATE_INPUT_H_

#include <algorithm>
#include <cstdint>
#include <string>

#include "engram/v1/engram.pb.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/unit/server/session_fixture.h"
#include "tests/unit/server/tiny_model.h"

namespace engram {

inline constexpr uint64_t kSessions = 3;  // besides 0

// Small ones, those around a chunk of history and the session's bound, around 2^63, and the last of all.
inline uint64_t ReadPosition(FuzzInput& input, uint64_t length) {
  const uint8_t byte = input.Byte();
  if (byte < 0x40) return byte;
  if (byte < 0xC0) return length + byte - 0x80;  // may wrap around
  if (byte < 0xE0) return 240 + (byte & 0x1F) * 2;
  const uint64_t end = byte < 0xF0 ? uint64_t{1} << 63 : 0;
  return end - 8 + (byte & 0x0F) / (byte < 0xF0 ? 1 : 2);
}

inline void ReadTokens(FuzzInput& input, size_t count, google::protobuf::RepeatedField<uint32_t>& ids,
                       std::string& mask) {
  bool masked = false;
  for (size_t i = 0; i < count; ++i) {
    const uint8_t byte = input.Byte();
    ids.Add(byte & 0x3F);  // 40 and above are no tokens
    mask += static_cast<char>(byte < 0x80);
    masked = masked || byte >= 0x80;
  }
  if (!masked) mask.clear();
}

// Half of the positions that a seed repeats are right.
inline uint64_t ReadAgain(FuzzInput& input, uint64_t position) {
  const uint8_t byte = input.Byte();
  return byte < 0x80 ? position : position + byte - 0xC0;
}

inline void ReadState(FuzzInput& input, v1::Segment& segment) {
  v1::HashState& state = *segment.mutable_state();
  state.set_position(ReadAgain(input, segment.start_pos()));
  const uint8_t shape = input.Byte();
  const uint64_t right = std::min<uint64_t>(segment.start_pos(), kLookback);
  const uint64_t count = (shape & 0x80) == 0 ? right : shape & 7;
  for (uint64_t i = 0; i < count; ++i) state.add_compressed_ids(static_cast<int8_t>(input.Byte()));
  std::string digest = TinyModel().constants_digest();
  if ((shape & 0x60) == 0x20) digest.back() ^= 1;
  if ((shape & 0x60) == 0x40) digest.pop_back();
  if ((shape & 0x60) == 0x60) digest.clear();
  state.set_constants_digest(digest);
}

inline void ReadFork(FuzzInput& input, v1::Segment& segment) {
  v1::ForkFrom& fork = *segment.mutable_fork_from();
  const uint8_t from = input.Byte();
  fork.set_session_id(from % (kSessions + 1));
  fork.set_position(ReadAgain(input, segment.start_pos()));
  if ((from & 0x10) != 0) fork.set_client_id((from & 0x20) != 0 ? "b" : "a");
}

// All but the session: `length` is the one it has, `seed` 0 none, 1 Lookback, 2 HashState, 3 ForkFrom.
inline void ReadSegment(FuzzInput& input, uint64_t length, int seed, v1::Segment& segment) {
  segment.set_start_pos(ReadPosition(input, length));
  ReadTokens(input, input.Byte() % 24, *segment.mutable_token_ids(), *segment.mutable_token_mask());
  if (seed == 1) {
    v1::Lookback& lookback = *segment.mutable_lookback();
    ReadTokens(input, input.Byte() % 8, *lookback.mutable_token_ids(), *lookback.mutable_token_mask());
  }
  if (seed == 2) ReadState(input, segment);
  if (seed == 3) ReadFork(input, segment);
}

}  // namespace engram

#endif  // ENGRAM_TESTS_FUZZ_HASH_STATE_INPUT_H_
