// 16 bytes of a row at a time: loaded from where a row's codes and scales lie, dequantised, stored. For GPU and CPU.
// Private to kernel_bodies.h.
//
// kGrain is the largest power of two up to 16 that divides every address and every width at hand, so that loads are as
// wide as the bytes allow (8 for rows of 264 bytes) and stores 16 wide wherever the output is.

#ifndef ENGRAM_SHARD_GPU_KERNEL_WORDS_H_
#define ENGRAM_SHARD_GPU_KERNEL_WORDS_H_

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "model/check.h"
#include "model/geometry.h"
#include "model/number_formats.h"

#if defined(__CUDA_ARCH__)
#define ENGRAM_UNROLL _Pragma("unroll")
#define ENGRAM_KEEP_LOOP _Pragma("unroll 1")
#else
#define ENGRAM_UNROLL
#define ENGRAM_KEEP_LOOP
#endif

namespace engram {

// Little-endian: the first byte is the lowest of `low`.
struct alignas(16) Word {
  uint64_t low = 0;
  uint64_t high = 0;
};
inline constexpr int32_t kWordBytes = 16;

template <int kGrain>
struct PieceOf;
template <>
struct PieceOf<1> : std::type_identity<uint8_t> {};
template <>
struct PieceOf<4> : std::type_identity<uint32_t> {};
template <>
struct PieceOf<8> : std::type_identity<uint64_t> {};
template <>
struct PieceOf<16> : std::type_identity<Word> {};
// What moves at once.
template <int kGrain>
using Piece = typename PieceOf<kGrain>::type;

// Numbers, not pointers: those of rows that nobody reads may lie anywhere.
using Address = uintptr_t;

// The object at `at`, which must be a multiple of its size: elsewhere the GPU would fault, so the CPU stops too. Both
// say that it lies in the GPU's global memory, which the compiler cannot know of an address. What is read here does not
// change while a kernel runs.
template <typename T>
ENGRAM_HOST_DEVICE inline T LoadAligned(Address at) {
#if defined(__CUDA_ARCH__)
  if constexpr (std::is_same_v<T, Word>) {
    const ulonglong2 value = __ldg(reinterpret_cast<const ulonglong2*>(at));
    return {value.x, value.y};
  } else {
    return __ldg(reinterpret_cast<const T*>(at));
  }
#else
  ENGRAM_CHECK(at % sizeof(T) == 0);
  T value;
  std::memcpy(&value, reinterpret_cast<const void*>(at), sizeof(T));
  return value;
#endif
}

template <typename T>
ENGRAM_HOST_DEVICE inline void StoreAligned(Address at, T value) {
#if defined(__CUDA_ARCH__)
  if constexpr (std::is_same_v<T, Word>) {
    __stwb(reinterpret_cast<ulonglong2*>(at), make_ulonglong2(value.low, value.high));
  } else {
    __stwb(reinterpret_cast<T*>(at), value);
  }
#else
  ENGRAM_CHECK(at % sizeof(T) == 0);
  std::memcpy(reinterpret_cast<void*>(at), &value, sizeof(T));
#endif
}

// Pieces are put into a word of zeros.
template <typename T>
ENGRAM_HOST_DEVICE inline void PutPiece(Word& word, int32_t at, T piece) {
  if constexpr (std::is_same_v<T, Word>) {
    word = piece;
  } else {
    (at < 8 ? word.low : word.high) |= static_cast<uint64_t>(piece) << (at % 8 * 8);
  }
}

template <typename T>
ENGRAM_HOST_DEVICE inline T TakePiece(const Word& word, int32_t at) {
  if constexpr (std::is_same_v<T, Word>) {
    return word;
  } else {
    return static_cast<T>((at < 8 ? word.low : word.high) >> (at % 8 * 8));
  }
}

// Where a row's bytes lie.
struct RowSource {
  Address codes;
  Address scales;
};

// Bytes [offset, offset + 16) of the packed row; zeros for those outside of it, and for all where nothing is `wanted`.
// Written so that it has no branches: those would part the loads of one thread.
template <int kGrain>
ENGRAM_HOST_DEVICE inline Word LoadPacked(const RowSource& row, uint32_t head_dim, int32_t offset, bool wanted) {
  const uint32_t row_bytes = head_dim + head_dim / kScaleBlock;
  Word word;
  ENGRAM_UNROLL
  for (int32_t i = 0; i < kWordBytes; i += kGrain) {
    const auto at = static_cast<uint32_t>(offset + i);  // of the bytes before the row: far behind it
    const Address from = at < head_dim ? row.codes : row.scales - head_dim;
    if (wanted && at < row_bytes) PutPiece(word, i, LoadAligned<Piece<kGrain>>(from + at));
  }
  return word;
}

// Codes [at, at + 8) of the row; zeros where they are not `wanted`.
template <int kGrain>
ENGRAM_HOST_DEVICE inline uint64_t LoadCodes(const RowSource& row, uint32_t at, bool wanted) {
  using T = Piece<(kGrain < 8 ? kGrain : 8)>;
  Word word;
  ENGRAM_UNROLL
  for (int32_t i = 0; i < 8; i += sizeof(T)) {
    if (wanted) PutPiece(word, i, LoadAligned<T>(row.codes + at + i));
  }
  return word.low;
}

inline constexpr uint8_t kScaleOfOne = 127;

// Values are multiples of 2^-9 * 2^(scale-127). From this scale on every one of them is a bf16, subnormal or not, and
// what is too large is infinity in both formats: nothing is rounded, the upper half of the float is the bf16.
inline constexpr uint8_t kUnroundedScaleMin = 3;

ENGRAM_HOST_DEVICE inline bool AnyNan(uint64_t codes) {
  return (((codes & 0x7F7F7F7F7F7F7F7Fu) + 0x0101010101010101u) & 0x8080808080808080u) != 0;  // 0x7F carries into 0x80
}

// The fields of a code, moved to where a float has them, are its value times 2^-120, subnormals too.
ENGRAM_HOST_DEVICE inline uint16_t DequantizeUnrounded(uint8_t code, float scale) {
  const uint32_t bits = static_cast<uint32_t>(code & 0x80) << 24 | static_cast<uint32_t>(code & kE4m3Magnitude) << 20;
  return static_cast<uint16_t>(BitsOfFloat(FloatOfBits(bits) * 0x1p120f * scale) >> 16);
}

// DequantizeToBf16 of eight codes. Nearly all take the short way: the long one would keep a GPU from its bandwidth.
ENGRAM_HOST_DEVICE inline Word DequantizeEight(uint64_t codes, uint8_t scale) {
  const float factor = E8m0ToFloat(scale);
  Word word;
  ENGRAM_UNROLL
  for (int32_t i = 0; i < 8; ++i) {
    PutPiece(word, 2 * i, DequantizeUnrounded(static_cast<uint8_t>(codes >> (8 * i)), factor));
  }
  if (scale >= kUnroundedScaleMin && scale != kE8m0Nan && !AnyNan(codes)) return word;
  word = Word();
  ENGRAM_KEEP_LOOP
  for (int32_t i = 0; i < 8; ++i) {
    PutPiece(word, 2 * i, DequantizeToBf16(static_cast<uint8_t>(codes >> (8 * i)), scale));
  }
  return word;
}

// Four bf16, NaNs of any kind as kBf16Nan.
ENGRAM_HOST_DEVICE inline uint64_t CanonicalNans(uint64_t values) {
  constexpr uint64_t kOfEach = 0x0001000100010001u;
  // Above infinity, 0x7F80, a magnitude carries into the sign's place.
  const uint64_t nans = ((values & 0x7FFF * kOfEach) + 0x007F * kOfEach) >> 15 & kOfEach;
  return (values & ~(nans * 0xFFFF)) | nans * kBf16Nan;
}

// Stores those bytes of `word` that belong to the row, being bytes [offset, offset + 16) of its row_bytes.
template <int kGrain>
ENGRAM_HOST_DEVICE inline void StoreWord(Address at, const Word& word, int32_t offset, int32_t row_bytes) {
  const bool whole = offset >= 0 && offset + kWordBytes <= row_bytes;
  if (whole && at % kWordBytes == 0) return StoreAligned(at, word);
  ENGRAM_UNROLL
  for (int32_t i = 0; i < kWordBytes; i += kGrain) {
    if (offset + i >= 0 && offset + i < row_bytes) StoreAligned(at + i, TakePiece<Piece<kGrain>>(word, i));
  }
}

}  // namespace engram

#endif  // ENGRAM_SHARD_GPU_KERNEL_WORDS_H_
