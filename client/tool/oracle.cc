#include "client/tool/oracle.h"

#include <cmath>
#include <utility>

namespace engram {

std::vector<uint64_t> PlainRowIds(const Geometry& geometry, const HashConstants& constants, size_t layer_index,
                                  absl::Span<const int32_t> window, size_t index, uint64_t position) {
  const size_t ngram_max = geometry.max_ngram_size;
  const int64_t* multipliers = constants.multipliers.data() + layer_index * ngram_max;
  const int64_t* primes = constants.primes.data() + layer_index * geometry.columns();
  const int64_t* offsets = constants.offsets.data() + layer_index * geometry.columns();

  std::vector<uint64_t> products;
  bool blocked = false;
  for (size_t shift = 0; shift < ngram_max; ++shift) {
    blocked = blocked || position < shift || window[index - shift] == kDead;
    const int32_t id = blocked ? constants.pad_id : window[index - shift];
    products.push_back(static_cast<uint64_t>(id) * static_cast<uint64_t>(multipliers[shift]));
  }
  std::vector<uint64_t> ids;
  uint64_t rolling = products[0];
  for (size_t size = 2; size <= ngram_max; ++size) {
    rolling ^= products[size - 1];
    for (size_t head = 0; head < geometry.heads; ++head) {
      const size_t column = (size - 2) * geometry.heads + head;
      ids.push_back(rolling % static_cast<uint64_t>(primes[column]) + static_cast<uint64_t>(offsets[column]));
    }
  }
  return ids;
}

uint16_t PlainBf16(uint8_t code, uint8_t scale) {
  constexpr uint16_t kNan = 0x7FC0;
  if ((code & 0x7F) == 0x7F || scale == 255) return kNan;
  const int exponent = (code >> 3) & 15;
  const int mantissa = code & 7;
  const double magnitude = exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
  const double value = std::ldexp(magnitude, static_cast<int>(scale) - 127);
  const auto sign = static_cast<uint16_t>((code >> 7) << 15);

  // A bf16 is steps * 2^(e-7) with steps in [128, 256), or steps * 2^-133 below 2^-126. Four significant bits always
  // fit above that, so only the subnormals round.
  if (value < std::ldexp(1.0, -126)) {
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::nearbyint(std::ldexp(value, 133))));
  }
  if (value >= std::ldexp(1.0, 128)) return static_cast<uint16_t>(sign | 0x7F80);
  int power = 0;
  const double half = std::frexp(value, &power);  // value = half * 2^power, half in [0.5, 1)
  const auto steps = static_cast<uint16_t>(std::ldexp(half, 8));
  return static_cast<uint16_t>(sign | ((power + 126) << 7) | (steps - 128));
}

Oracle::Oracle(Checkpoint checkpoint, std::vector<TableReader> tables)
    : checkpoint_(std::move(checkpoint)), tables_(std::move(tables)) {
  for (int scale = 0; scale < 256; ++scale) {
    for (int code = 0; code < 256; ++code) {
      bf16_.push_back(PlainBf16(static_cast<uint8_t>(code), static_cast<uint8_t>(scale)));
    }
  }
}

absl::StatusOr<Oracle> Oracle::Open(const std::string& checkpoint, const std::string& hash_constants) {
  absl::StatusOr<Checkpoint> opened = OpenCheckpoint(checkpoint, hash_constants);
  if (!opened.ok()) return opened.status();
  std::vector<TableReader> tables;
  for (const TableFiles& files : opened->tables) {
    absl::StatusOr<TableReader> table = TableReader::Open(files);
    if (!table.ok()) return table.status();
    tables.push_back(*std::move(table));
  }
  return Oracle(*std::move(opened), std::move(tables));
}

absl::Status Oracle::ReadPacked(size_t layer_index, uint64_t row, absl::Span<uint8_t> packed) const {
  const size_t codes = geometry().head_dim;
  return tables_[layer_index].ReadRow(row, packed.first(codes), packed.subspan(codes));
}

void Oracle::Dequantize(absl::Span<const uint8_t> packed, absl::Span<uint16_t> values) const {
  const size_t codes = geometry().head_dim;
  for (size_t i = 0; i < codes; ++i) {
    values[i] = bf16_[size_t{packed[codes + i / kScaleBlock]} * 256 + packed[i]];
  }
}

}  // namespace engram
