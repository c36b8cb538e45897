#include "model/hash_constants.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "model/digest.h"
#include "model/numpy_random.h"
#include "model/primes.h"

namespace engram {
namespace {

constexpr int64_t kProductMax = std::numeric_limits<int64_t>::max();

absl::Status CheckLength(absl::string_view field, size_t length, uint64_t wanted, absl::string_view shape) {
  if (length == wanted) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(field, " has ", length, " values, need ", wanted, " (", shape, ")"));
}

absl::Status CheckLengths(const Geometry& geometry, const HashConstants& constants) {
  const uint64_t columns = geometry.layers() * geometry.columns();
  for (const absl::Status& status : {
           CheckLength("token_map", constants.token_map.size(), geometry.vocab_size, "vocab_size"),
           CheckLength("multipliers", constants.multipliers.size(), geometry.layers() * geometry.max_ngram_size,
                       "layers * max_ngram_size"),
           CheckLength("primes", constants.primes.size(), columns, "layers * (max_ngram_size-1) * heads"),
           CheckLength("offsets", constants.offsets.size(), columns, "layers * (max_ngram_size-1) * heads"),
       }) {
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status CheckIds(const Geometry& geometry, const HashConstants& constants) {
  const int64_t classes = geometry.compressed_vocab_size;
  for (size_t token = 0; token < constants.token_map.size(); ++token) {
    const int32_t id = constants.token_map[token];
    if (id < 0 || id >= classes) {
      return absl::InvalidArgumentError(
          absl::StrCat("token_map[", token, "] = ", id, " is outside [0, ", classes, "), the compressed vocabulary"));
    }
  }
  if (constants.pad_id < 0 || constants.pad_id >= classes) {
    return absl::InvalidArgumentError(
        absl::StrCat("pad_id = ", constants.pad_id, " is outside [0, ", classes, "), the compressed vocabulary"));
  }
  return absl::OkStatus();
}

// Products of ids and multipliers stay below 2^63, so that signed and unsigned remainders agree.
absl::Status CheckMultipliers(const Geometry& geometry, const HashConstants& constants) {
  const int64_t id_max = static_cast<int64_t>(geometry.compressed_vocab_size) - 1;
  const int64_t multiplier_max = id_max == 0 ? kProductMax : kProductMax / id_max;
  for (size_t i = 0; i < constants.multipliers.size(); ++i) {
    const int64_t value = constants.multipliers[i];
    if (value > 0 && value <= multiplier_max) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "multipliers[", i / geometry.max_ngram_size, "][", i % geometry.max_ngram_size, "] = ", value,
        " is outside [1, ", multiplier_max, "]: times compressed id ", id_max, " it must stay below 2^63"));
  }
  return absl::OkStatus();
}

// Primes, offsets and rows of one layer: each prime's range of row ids follows the one before and the last ends the
// table.
absl::Status CheckBuckets(const Geometry& geometry, const HashConstants& constants, size_t layer) {
  const size_t columns = geometry.columns();
  int64_t sum = 0;
  for (size_t column = 0; column < columns; ++column) {
    const std::string where = absl::StrCat("[layer ", geometry.layer_ids[layer], "][column ", column, "]");
    const int64_t prime = constants.primes[layer * columns + column];
    const int64_t offset = constants.offsets[layer * columns + column];
    if (prime < 2 || prime >= kPrimeEnd) {
      return absl::InvalidArgumentError(absl::StrCat("primes", where, " = ", prime, " is outside [2, 2^40)"));
    }
    if (offset != sum) {
      return absl::InvalidArgumentError(
          absl::StrCat("offsets", where, " = ", offset, " is not ", sum, ", the sum of the primes before it"));
    }
    sum += prime;
  }
  if (static_cast<uint64_t>(sum) != geometry.rows[layer]) {
    return absl::InvalidArgumentError(absl::StrCat("primes of layer ", geometry.layer_ids[layer], " add up to ", sum,
                                                   ", but its table (engram_num_embeddings) has ", geometry.rows[layer],
                                                   " rows"));
  }
  return absl::OkStatus();
}

template <typename Values>
void AddNumbers(const Values& values, Digest& digest) {
  digest.AddNumber(values.size());
  for (const auto value : values) digest.AddNumber(static_cast<uint64_t>(static_cast<int64_t>(value)));
}

}  // namespace

// Every (layer, size) starts at the same number and skips what is taken, and what is taken is an unbroken run of primes
// from there: so the walk only ever goes on.
std::vector<int64_t> DerivePrimes(const Geometry& geometry, uint64_t engram_vocab_size) {
  const uint64_t start = std::min<uint64_t>(engram_vocab_size, kPrimeEnd);
  return PrimesFrom(start, geometry.layers() * geometry.columns());
}

std::vector<int64_t> DeriveMultipliers(const Geometry& geometry) {
  const uint64_t classes = std::max<uint32_t>(geometry.compressed_vocab_size, 1);
  const uint64_t bound = std::max<uint64_t>(1, kProductMax / classes / 2);
  std::vector<int64_t> multipliers;
  multipliers.reserve(geometry.layers() * geometry.max_ngram_size);
  for (const uint32_t layer_id : geometry.layer_ids) {
    NumpyRandom random(uint64_t{10007} * layer_id);
    for (uint32_t i = 0; i < geometry.max_ngram_size; ++i) {
      multipliers.push_back(static_cast<int64_t>(2 * random.Bounded(bound) + 1));
    }
  }
  return multipliers;
}

std::vector<int64_t> OffsetsOf(const Geometry& geometry, const std::vector<int64_t>& primes) {
  const size_t columns = geometry.columns();
  std::vector<int64_t> offsets(primes.size());
  uint64_t sum = 0;  // unsigned: primes not yet validated may wrap, which validation refuses
  for (size_t i = 0; i < primes.size(); ++i) {
    if (i % columns == 0) sum = 0;
    offsets[i] = static_cast<int64_t>(sum);
    sum += static_cast<uint64_t>(primes[i]);
  }
  return offsets;
}

absl::Status ValidateHashConstants(const Geometry& geometry, const HashConstants& constants) {
  absl::Status status = geometry.Validate();
  if (status.ok()) status = CheckLengths(geometry, constants);
  if (status.ok()) status = CheckIds(geometry, constants);
  if (status.ok()) status = CheckMultipliers(geometry, constants);
  for (size_t layer = 0; status.ok() && layer < geometry.layers(); ++layer) {
    status = CheckBuckets(geometry, constants, layer);
  }
  return status;
}

std::string ConstantsDigest(const Geometry& geometry, const HashConstants& constants) {
  Digest digest;
  AddNumbers(constants.token_map, digest);
  AddNumbers(std::vector<int64_t>{constants.pad_id}, digest);
  AddNumbers(constants.multipliers, digest);
  AddNumbers(constants.primes, digest);
  AddNumbers(constants.offsets, digest);
  AddNumbers(geometry.layer_ids, digest);
  AddNumbers(geometry.rows, digest);
  AddNumbers(std::vector<int64_t>{geometry.max_ngram_size, geometry.heads, geometry.head_dim, geometry.vocab_size,
                                  geometry.compressed_vocab_size},
             digest);
  return digest.Finish();
}

}  // namespace engram
