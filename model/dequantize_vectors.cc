// Compiled once for each kind of vectors there is: Highway includes this file again and again, with HWY_NAMESPACE and
// the compiler's target changed.

#include <algorithm>

#include "model/dequantize_blocks.h"
#include "model/number_formats.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/dequantize_vectors.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace engram {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

void Dequantize(const uint8_t* codes, const uint8_t* scales, size_t blocks, uint16_t* out) {
  DequantizeBlocks(codes, scales, blocks, out);
}

#else

using D16 = hn::CappedTag<uint16_t, kDequantizedBlock>;
using Values = hn::Vec<D16>;

// The bits of a bf16 grow by 128 with each doubling of the value. From m = 8 on an e4m3 magnitude m does so by 8, so
// that bits are 16 * m and a bias. Below, where e4m3 is subnormal, m is by so much too large for that; all is exact.
// The entry of 0, which has no such bits, only keeps the upper bytes of the lanes.
alignas(16) constexpr uint8_t kTooLarge[16] = {0, 17, 10, 7, 4, 3, 2, 1};

HWY_INLINE Values MagnitudesOf(Values codes) { return hn::And(codes, hn::Set(D16(), kE4m3Magnitude)); }

// Right for codes that are no NaN, under a scale in [kPlainScaleMin, kPlainScaleMax].
HWY_INLINE Values ConvertPlain(Values codes, Values bias) {
  const D16 d16;
  const hn::Repartition<uint8_t, D16> bytes;
  const Values magnitudes = MagnitudesOf(codes);
  const auto index = hn::BitCast(bytes, hn::Min(magnitudes, hn::Set(d16, 8)));
  const Values too_large = hn::BitCast(d16, hn::TableLookupBytes(hn::LoadDup128(bytes, kTooLarge), index));
  const Values steps = hn::ShiftLeft<4>(hn::Sub(magnitudes, too_large));
  const Values zeros = hn::VecFromMask(d16, hn::Eq(magnitudes, hn::Zero(d16)));
  const Values signs = hn::And(hn::ShiftLeft<8>(codes), hn::Set(d16, 0x8000));
  return hn::Or(signs, hn::Add(steps, hn::AndNot(zeros, bias)));
}

// Returns the largest magnitudes, so that NaNs can be looked for once for many blocks.
HWY_INLINE Values ConvertPlainBlock(const uint8_t* HWY_RESTRICT codes, uint8_t scale, uint16_t* HWY_RESTRICT out) {
  const D16 d16;
  const hn::Rebind<uint8_t, D16> d8;
  const Values bias = hn::Set(d16, static_cast<uint16_t>((scale - 7) * 128));
  Values largest = hn::Zero(d16);
  for (size_t i = 0; i < kDequantizedBlock; i += hn::Lanes(d16)) {
    const Values wide = hn::PromoteTo(d16, hn::LoadU(d8, codes + i));
    hn::StoreU(ConvertPlain(wide, bias), d16, out + i);
    largest = hn::Max(largest, MagnitudesOf(wide));
  }
  return largest;
}

bool IsPlain(uint8_t scale) { return scale >= kPlainScaleMin && scale <= kPlainScaleMax; }

// The blocks that ConvertPlainBlock cannot do. Out of line, so that the loop before keeps its constants in registers.
HWY_NOINLINE void Amend(const uint8_t* codes, const uint8_t* scales, size_t blocks, uint16_t* out) {
  for (size_t block = 0; block < blocks; ++block, codes += kDequantizedBlock, out += kDequantizedBlock) {
    const auto is_nan = [](uint8_t code) { return (code & kE4m3Magnitude) == kE4m3Magnitude; };
    if (IsPlain(scales[block]) && std::none_of(codes, codes + kDequantizedBlock, is_nan)) continue;
    DequantizeEdgeBlock(codes, scales[block], out);
  }
}

void Dequantize(const uint8_t* HWY_RESTRICT codes, const uint8_t* HWY_RESTRICT scales, size_t blocks,
                uint16_t* HWY_RESTRICT out) {
  const D16 d16;
  Values largest = hn::Zero(d16);
  bool all_plain = true;
  for (size_t block = 0; block < blocks; ++block) {
    const size_t at = block * kDequantizedBlock;
    all_plain &= IsPlain(scales[block]);
    largest = hn::Max(largest, ConvertPlainBlock(codes + at, scales[block], out + at));
  }
  const bool no_nan = hn::AllFalse(d16, hn::Eq(largest, hn::Set(d16, kE4m3Magnitude)));
  if (!all_plain || !no_nan) Amend(codes, scales, blocks, out);
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace engram
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace engram {
namespace {

HWY_EXPORT(Dequantize);

}  // namespace

void DequantizeBlocksAsVectors(const uint8_t* codes, const uint8_t* scales, size_t blocks, uint16_t* out) {
  HWY_DYNAMIC_DISPATCH(Dequantize)(codes, scales, blocks, out);
}

}  // namespace engram

#endif  // HWY_ONCE
