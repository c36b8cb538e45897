// What one thread of a kernel that moves rows, or looks at their values, does, for GPU and CPU: thread index in, memory
// out. No thread depends on another, so any number of threads in any order leave the same memory. Private to the
// launchers.

#ifndef ENGRAM_SHARD_GPU_KERNEL_BODIES_H_
#define ENGRAM_SHARD_GPU_KERNEL_BODIES_H_

#include <cstdint>
#include <cstring>

#include "shard/gpu/kernel_math.h"
#include "shard/gpu/kernel_words.h"
#include "shard/gpu/kernels.h"
#include "shard/row_plan.h"

namespace engram {

ENGRAM_HOST_DEVICE constexpr uint32_t PackedBytes(uint32_t head_dim) { return head_dim + head_dim / kScaleBlock; }

ENGRAM_HOST_DEVICE constexpr uint32_t RowBytesOf(RowForm form, uint32_t head_dim) {
  return form == RowForm::kPacked ? PackedBytes(head_dim) : 2 * head_dim;
}

// One row's way.
struct RowMove {
  RowSource from;
  bool owned;    // by this rank: else zeros are written and `from` is not read
  bool written;  // else nothing is
  Address out;
};

ENGRAM_HOST_DEVICE inline Address RowAt(const uint8_t* rows, uint64_t row, uint64_t row_bytes) {
  return reinterpret_cast<Address>(rows) + row * row_bytes;
}

ENGRAM_HOST_DEVICE inline RowSource PackedRow(const uint8_t* packed, uint64_t row, uint32_t head_dim) {
  const Address codes = RowAt(packed, row, PackedBytes(head_dim));
  return {codes, codes + head_dim};
}

// The three ways. KeyOf is what must be read before anything else is known of row `i`; MoveOf is what becomes of it.

ENGRAM_HOST_DEVICE inline uint64_t KeyOf(const GatherArgs& args, uint64_t i) { return args.entries[i]; }
ENGRAM_HOST_DEVICE inline uint64_t KeyOf(const PlaceArgs& args, uint64_t i) { return args.requests[i]; }
ENGRAM_HOST_DEVICE inline uint64_t KeyOf(const DequantizeArgs&, uint64_t i) { return i; }

ENGRAM_HOST_DEVICE inline RowMove MoveOf(const GatherArgs& args, RowForm form, uint64_t i, uint64_t entry) {
  const bool known = LayerOf(entry) < args.layer_count;
  const DeviceRows rows = args.layers[known ? LayerOf(entry) : 0];
  const uint64_t at = RowOf(entry) - rows.begin;  // of a row before `begin`: far behind the end
  const bool owned = known && at < rows.end - rows.begin;
  const bool written = owned || args.unowned == UnownedRows::kZero;
  return {{RowAt(rows.codes, at, args.head_dim), RowAt(rows.scales, at, args.head_dim / kScaleBlock)},
          owned,
          written,
          RowAt(args.out, i, RowBytesOf(form, args.head_dim))};
}

ENGRAM_HOST_DEVICE inline RowMove MoveOf(const DequantizeArgs& args, RowForm form, uint64_t i, uint64_t) {
  return {PackedRow(args.packed, i, args.head_dim), true, true, RowAt(args.out, i, RowBytesOf(form, args.head_dim))};
}

// A launch moves the rows of one form; those of the other are left to the other launch.
ENGRAM_HOST_DEVICE inline RowMove MoveOf(const PlaceArgs& args, RowForm form, uint64_t i, uint64_t request) {
  const uint32_t index = LastNotAbove(args.blocks, args.block_count, &PlaceBlock::begin_request, request);
  const PlaceBlock block = args.blocks[index];
  const bool mine = block.form == form;
  return {PackedRow(args.packed, i, args.head_dim), mine, mine,
          RowAt(block.out, request - block.begin_request, RowBytesOf(form, args.head_dim))};
}

// A thread makes 16 bytes of a row's output, then others a whole grid further. It takes kUnroll of them in three
// passes, so that as many independent loads are on their way: a load stalls a thread only where its value is used.
//   packed  word w of a row is the w-th aligned 16 bytes its output touches: the first and the last may be shared with
//           the neighbours, and only the row's own bytes of them are written
//   bf16    word w of a row is eight of its codes
template <RowForm kForm, int kGrain, typename Args>
class MoveRows {
 public:
  explicit MoveRows(const Args& args) : args_(args), words_(WordsOfRow(args.head_dim)) {}

  ENGRAM_HOST_DEVICE uint64_t units() const { return args_.rows * words_.divisor; }

  ENGRAM_HOST_DEVICE void operator()(uint64_t thread, uint64_t threads) const {
    const uint64_t end = units();
    for (uint64_t first = thread; first < end; first += kUnroll * threads) {
      Unit unit[kUnroll];
      Loaded loaded[kUnroll];
      ENGRAM_UNROLL
      for (uint64_t k = 0; k < kUnroll; ++k) unit[k] = Find(first + k * threads, end);
      ENGRAM_UNROLL
      for (uint64_t k = 0; k < kUnroll; ++k) loaded[k] = Load(unit[k]);
      ENGRAM_UNROLL
      for (uint64_t k = 0; k < kUnroll; ++k) Store(loaded[k]);
    }
  }

 private:
  static constexpr uint64_t kUnroll = kGrain < 8 ? 1 : 4;  // small pieces are many loads already
  static constexpr uint32_t kCodesPerWord = 8;             // of bf16

  struct Unit {
    bool exists;
    uint64_t row;
    uint32_t word;  // of the row
    uint64_t key;
  };

  struct Loaded {
    bool written;
    Address at;
    int32_t offset;  // in the row's output
    Word bytes;      // packed: as they are written; bf16: the codes, in `low`
    uint8_t scale;   // bf16
  };

  static uint64_t WordsOfRow(uint32_t head_dim) {
    if (kForm == RowForm::kBf16) return head_dim / kCodesPerWord;
    return (PackedBytes(head_dim) + (kWordBytes - kGrain) + (kWordBytes - 1)) / kWordBytes;
  }

  ENGRAM_HOST_DEVICE int32_t row_bytes() const { return static_cast<int32_t>(RowBytesOf(kForm, args_.head_dim)); }

  // Past the end: the last one again, so that no branch parts the loads.
  ENGRAM_HOST_DEVICE Unit Find(uint64_t unit, uint64_t end) const {
    const Division at = words_(unit < end ? unit : end - 1);
    return {unit < end, at.quotient, static_cast<uint32_t>(at.remainder), KeyOf(args_, at.quotient)};
  }

  ENGRAM_HOST_DEVICE Loaded Load(const Unit& unit) const {
    const RowMove move = MoveOf(args_, kForm, unit.row, unit.key);
    Loaded loaded;
    loaded.offset = static_cast<int32_t>(unit.word) * kWordBytes;
    if constexpr (kForm == RowForm::kPacked) {
      loaded.offset -= static_cast<int32_t>(move.out % kWordBytes);
    }
    loaded.at = move.out + static_cast<Address>(static_cast<int64_t>(loaded.offset));
    loaded.written = unit.exists && move.written;
    const bool read = loaded.written && move.owned;
    if constexpr (kForm == RowForm::kPacked) {
      loaded.bytes = LoadPacked<kGrain>(move.from, args_.head_dim, loaded.offset, read);
    } else {
      const uint32_t code = unit.word * kCodesPerWord;
      loaded.bytes.low = LoadCodes<kGrain>(move.from, code, read);
      loaded.scale = read ? LoadAligned<uint8_t>(move.from.scales + code / kScaleBlock) : kScaleOfOne;
    }
    return loaded;
  }

  ENGRAM_HOST_DEVICE void Store(const Loaded& loaded) const {
    if (!loaded.written) return;
    if constexpr (kForm == RowForm::kPacked) {
      StoreWord<kGrain>(loaded.at, loaded.bytes, loaded.offset, row_bytes());
    } else {
      StoreWord<kGrain>(loaded.at, DequantizeEight(loaded.bytes.low, loaded.scale), loaded.offset, row_bytes());
    }
  }

  Args args_;
  Divider words_;
};

// A thread takes eight values, then others a whole grid further. Words without a NaN are not written.
class CanonicalNanWords {
 public:
  explicit CanonicalNanWords(const CanonicalNanArgs& args) : args_(args) {}

  ENGRAM_HOST_DEVICE uint64_t units() const { return args_.count / kValuesPerWord; }

  ENGRAM_HOST_DEVICE void operator()(uint64_t thread, uint64_t threads) const {
    for (uint64_t i = thread; i < units(); i += threads) {
      const Address at = reinterpret_cast<Address>(args_.values + i * kValuesPerWord);
      Word word;  // not by LoadAligned, which is for what no kernel writes
      std::memcpy(&word, __builtin_assume_aligned(reinterpret_cast<const void*>(at), kWordBytes), sizeof(word));
      const Word canonical = {CanonicalNans(word.low), CanonicalNans(word.high)};
      if (canonical.low != word.low || canonical.high != word.high) StoreAligned(at, canonical);
    }
  }

  static constexpr uint64_t kValuesPerWord = kWordBytes / sizeof(uint16_t);

 private:
  CanonicalNanArgs args_;
};

}  // namespace engram

#endif  // ENGRAM_SHARD_GPU_KERNEL_BODIES_H_
