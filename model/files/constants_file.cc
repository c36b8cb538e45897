// Reading StatedConstants from the two kinds of files.

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/files/errors.h"
#include "model/files/safetensors.h"
#include "model/files/stated_constants.h"

namespace engram {
namespace {

constexpr uint64_t kTokensMax = uint64_t{1} << 24;
constexpr uint64_t kListMax = uint64_t{1} << 20;
constexpr const char* kPrefixes[] = {"deepseek41.engram.", "deepseek4.engram."};

absl::StatusOr<std::string> KeyPrefix(const GgufFile& file) {
  std::string prefix;
  for (const char* candidate : kPrefixes) {
    if (!file.Has(absl::StrCat(candidate, "layer_ids"))) continue;
    if (!prefix.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(file.path(), ": has keys of both ", prefix, " and ", candidate));
    }
    prefix = candidate;
  }
  if (!prefix.empty()) return prefix;
  return absl::InvalidArgumentError(absl::StrCat(file.path(), ": key ", kPrefixes[0], "layer_ids is missing (",
                                                 kPrefixes[1], "layer_ids too): it carries no hash constants"));
}

absl::Status ReadOptional(const GgufFile& file, const std::string& key, std::optional<int64_t>* out) {
  if (!file.Has(key)) return absl::OkStatus();
  ENGRAM_ASSIGN_OR_RETURN(*out, file.Integer(key));
  return absl::OkStatus();
}

absl::Status ReadOptional(const GgufFile& file, const std::string& key, std::optional<std::vector<int64_t>>* out) {
  if (!file.Has(key)) return absl::OkStatus();
  ENGRAM_ASSIGN_OR_RETURN(*out, file.Integers(key, kListMax));
  return absl::OkStatus();
}

// [layers, ...]: a flat array cannot tell, but where the file gives a shape its first dimension must be the layers'.
absl::Status ReadPerLayer(const SafetensorsFile& file, const std::string& name, std::optional<uint64_t>* layers,
                          std::vector<int64_t>* out) {
  ENGRAM_ASSIGN_OR_RETURN(const SafetensorsTensor tensor, file.Find(name));
  ENGRAM_ASSIGN_OR_RETURN(*out, file.ReadIntegers(name, kListMax));
  if (tensor.shape.size() < 2) return absl::OkStatus();
  if (!layers->has_value()) *layers = tensor.shape[0];
  if (**layers == tensor.shape[0]) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(file.path(), ": tensor ", name, " is of ", tensor.shape[0],
                                                 " layers, the tensors before it of ", **layers));
}

absl::Status ReadOptionalTensors(const SafetensorsFile& file, std::optional<uint64_t>* layers,
                                 StatedConstants* stated) {
  if (file.Has("offsets")) {
    std::vector<int64_t> offsets;
    ENGRAM_RETURN_IF_ERROR(ReadPerLayer(file, "offsets", layers, &offsets));
    stated->offsets = std::move(offsets);
  }
  if (!file.Has("pad_id")) return absl::OkStatus();
  ENGRAM_ASSIGN_OR_RETURN(const std::vector<int64_t> pad, file.ReadIntegers("pad_id", kListMax));
  if (pad.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(file.path(), ": tensor pad_id has ", pad.size(), " elements, not 1"));
  }
  stated->pad_id = pad[0];
  return absl::OkStatus();
}

absl::StatusOr<StatedConstants> ReadSafetensorsConstants(const std::string& path) {
  ENGRAM_ASSIGN_OR_RETURN(const SafetensorsFile file, SafetensorsFile::Open(path));
  StatedConstants stated;
  stated.path = path;
  std::optional<uint64_t> layers;
  for (const char* name : {"token_map", "multipliers", "primes"}) {
    if (!file.Has(name)) return absl::InvalidArgumentError(absl::StrCat(path, ": tensor ", name, " is missing"));
  }
  ENGRAM_ASSIGN_OR_RETURN(stated.token_map, file.ReadIntegers("token_map", kTokensMax));
  ENGRAM_RETURN_IF_ERROR(ReadPerLayer(file, "multipliers", &layers, &stated.multipliers));
  ENGRAM_RETURN_IF_ERROR(ReadPerLayer(file, "primes", &layers, &stated.primes));
  ENGRAM_RETURN_IF_ERROR(ReadOptionalTensors(file, &layers, &stated));
  if (layers) stated.layers = static_cast<int64_t>(*layers);
  return stated;
}

}  // namespace

absl::StatusOr<StatedConstants> ReadGgufConstants(const GgufFile& file) {
  StatedConstants stated;
  stated.path = file.path();
  ENGRAM_ASSIGN_OR_RETURN(const std::string prefix, KeyPrefix(file));
  stated.key_prefix = prefix;
  ENGRAM_ASSIGN_OR_RETURN(stated.layer_ids, file.Integers(absl::StrCat(prefix, "layer_ids"), kListMax));
  ENGRAM_ASSIGN_OR_RETURN(stated.token_map, file.Integers(absl::StrCat(prefix, "token_map"), kTokensMax));
  ENGRAM_ASSIGN_OR_RETURN(stated.multipliers, file.Integers(absl::StrCat(prefix, "multipliers"), kListMax));
  ENGRAM_ASSIGN_OR_RETURN(stated.primes, file.Integers(absl::StrCat(prefix, "primes"), kListMax));
  ENGRAM_ASSIGN_OR_RETURN(stated.pad_id, file.Integer(absl::StrCat(prefix, "pad_id")));
  ENGRAM_RETURN_IF_ERROR(ReadOptional(file, absl::StrCat(prefix, "offsets"), &stated.offsets));
  ENGRAM_RETURN_IF_ERROR(ReadOptional(file, absl::StrCat(prefix, "rows"), &stated.rows));
  ENGRAM_RETURN_IF_ERROR(
      ReadOptional(file, absl::StrCat(prefix, "compressed_vocab_size"), &stated.compressed_vocab_size));
  ENGRAM_RETURN_IF_ERROR(ReadOptional(file, absl::StrCat(prefix, "head_count"), &stated.heads));
  ENGRAM_RETURN_IF_ERROR(ReadOptional(file, absl::StrCat(prefix, "key_length"), &stated.head_dim));
  ENGRAM_RETURN_IF_ERROR(ReadOptional(file, absl::StrCat(prefix, "max_ngram_size"), &stated.max_ngram_size));
  return stated;
}

absl::StatusOr<StatedConstants> ReadStatedConstants(const std::string& path) {
  char magic[4] = {};
  {
    ENGRAM_ASSIGN_OR_RETURN(const File file, File::Open(path));
    ENGRAM_RETURN_IF_ERROR(file.ReadExactly(0, magic, sizeof(magic)));
  }
  if (std::memcmp(magic, "GGUF", sizeof(magic)) != 0) return ReadSafetensorsConstants(path);
  ENGRAM_ASSIGN_OR_RETURN(const GgufFile file, GgufFile::Open(path));
  return ReadGgufConstants(file);
}

}  // namespace engram
