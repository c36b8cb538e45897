#include "model/files/stated_constants.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/files/errors.h"

namespace engram {
namespace {

// Compares what a file states with the geometry at hand, and prefixes messages with the path.
class Checker {
 public:
  Checker(const StatedConstants& stated, const Geometry& geometry) : stated_(stated), geometry_(geometry) {}

  absl::Status CheckGeometry() const {
    ENGRAM_RETURN_IF_ERROR(Same("head_count", stated_.heads, geometry_.heads));
    ENGRAM_RETURN_IF_ERROR(Same("key_length", stated_.head_dim, geometry_.head_dim));
    ENGRAM_RETURN_IF_ERROR(Same("max_ngram_size", stated_.max_ngram_size, geometry_.max_ngram_size));
    ENGRAM_RETURN_IF_ERROR(
        Same("compressed_vocab_size", stated_.compressed_vocab_size, geometry_.compressed_vocab_size));
    ENGRAM_RETURN_IF_ERROR(Same("number of layers", stated_.layers, static_cast<int64_t>(geometry_.layers())));
    ENGRAM_RETURN_IF_ERROR(SameList("layer_ids", stated_.layer_ids, geometry_.layer_ids));
    return SameList("rows", stated_.rows, geometry_.rows);
  }

  absl::Status CheckLength(const std::string& key, const std::vector<int64_t>& values, uint64_t expected) const {
    if (values.size() == expected) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(Name(key), " has ", values.size(), " elements, the geometry needs ", expected));
  }

  // Each value in [low, end).
  absl::Status CheckRange(const std::string& key, const std::vector<int64_t>& values, int64_t low, int64_t end) const {
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i] >= low && values[i] < end) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(Name(key), "[", i, "] is ", values[i], ", not in [", low, ", ", end, ")"));
    }
    return absl::OkStatus();
  }

  std::string Name(const std::string& key) const { return absl::StrCat(stated_.path, ": ", stated_.key_prefix, key); }

 private:
  absl::Status Same(const std::string& key, const std::optional<int64_t>& value, int64_t expected) const {
    if (!value || *value == expected) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat(Name(key), " is ", *value, ", but the checkpoint's is ", expected));
  }

  template <typename T>
  absl::Status SameList(const std::string& key, const std::optional<std::vector<int64_t>>& values,
                        const std::vector<T>& expected) const {
    if (!values || std::vector<int64_t>(expected.begin(), expected.end()) == *values) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(Name(key), " is [", absl::StrJoin(*values, ", "),
                                                      "], but the checkpoint's is [", absl::StrJoin(expected, ", "),
                                                      "]"));
  }

  const StatedConstants& stated_;
  const Geometry& geometry_;
};

absl::StatusOr<int32_t> ResolvePad(const Checker& checker, const StatedConstants& stated,
                                   std::optional<uint32_t> pad_token_id) {
  std::optional<int64_t> pad = stated.pad_id;
  if (pad_token_id) {
    const int64_t mapped = stated.token_map[*pad_token_id];
    if (pad && *pad != mapped) {
      return absl::FailedPreconditionError(absl::StrCat(
          checker.Name("pad_id"), " is ", *pad, ", but token_map of the pad token ", *pad_token_id, " is ", mapped));
    }
    pad = mapped;
  }
  if (!pad) {
    return absl::InvalidArgumentError(
        absl::StrCat(checker.Name("pad_id"), " is missing, and config.json names no pad token either"));
  }
  return static_cast<int32_t>(*pad);
}

}  // namespace

absl::StatusOr<HashConstants> ResolveConstants(const StatedConstants& stated, const Geometry& geometry,
                                               std::optional<uint32_t> pad_token_id) {
  const Checker checker(stated, geometry);
  ENGRAM_RETURN_IF_ERROR(checker.CheckGeometry());
  const uint64_t columns = geometry.layers() * geometry.columns();
  ENGRAM_RETURN_IF_ERROR(checker.CheckLength("token_map", stated.token_map, geometry.vocab_size));
  ENGRAM_RETURN_IF_ERROR(
      checker.CheckLength("multipliers", stated.multipliers, geometry.layers() * geometry.max_ngram_size));
  ENGRAM_RETURN_IF_ERROR(checker.CheckLength("primes", stated.primes, columns));
  // Before the ids are narrowed to 32 bits.
  ENGRAM_RETURN_IF_ERROR(checker.CheckRange("token_map", stated.token_map, 0, geometry.compressed_vocab_size));
  if (stated.pad_id) {
    ENGRAM_RETURN_IF_ERROR(checker.CheckRange("pad_id", {*stated.pad_id}, 0, geometry.compressed_vocab_size));
  }
  HashConstants constants;
  constants.token_map.assign(stated.token_map.begin(), stated.token_map.end());
  constants.multipliers = stated.multipliers;
  constants.primes = stated.primes;
  constants.offsets = stated.offsets ? *stated.offsets : OffsetsOf(geometry, stated.primes);
  ENGRAM_ASSIGN_OR_RETURN(constants.pad_id, ResolvePad(checker, stated, pad_token_id));
  ENGRAM_RETURN_IF_ERROR(Annotate(ValidateHashConstants(geometry, constants), stated.path));
  return constants;
}

}  // namespace engram
