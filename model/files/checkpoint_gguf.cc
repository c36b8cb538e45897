// A GGUF file, or a split of several, with tables and constants.

#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/files/checkpoint_kinds.h"
#include "model/files/errors.h"
#include "model/files/gguf_splits.h"
#include "model/files/stated_constants.h"

namespace engram {
namespace {

constexpr uint64_t kBlockBytes = kScaleBlock + 1;  // a block of codes and its scale

std::string TensorName(int64_t layer_id) { return absl::StrCat("blk.", layer_id, ".engram_embd.weight"); }

absl::Status Malformed(const StatedConstants& stated, const std::string& key, const std::string& problem) {
  return absl::InvalidArgumentError(absl::StrCat(stated.path, ": key ", stated.key_prefix, key, " ", problem));
}

// Values of `list` as unsigned T; the geometry's own check knows the narrower bounds.
template <typename T>
absl::StatusOr<std::vector<T>> Narrowed(const StatedConstants& stated, const std::string& key,
                                        const std::vector<int64_t>& list) {
  std::vector<T> values;
  for (const int64_t value : list) {
    if (value < 0 || static_cast<uint64_t>(value) > std::numeric_limits<T>::max()) {
      return Malformed(stated, key, absl::StrCat("holds ", value, ", not in [0, ", std::numeric_limits<T>::max(), "]"));
    }
    values.push_back(static_cast<T>(value));
  }
  return values;
}

// How many elements of a list go to each of `parts`.
absl::StatusOr<uint32_t> Share(const StatedConstants& stated, const std::string& key, size_t count, size_t parts) {
  if (parts == 0 || count == 0 || count % parts != 0) {
    return Malformed(stated, key, absl::StrCat("has ", count, " elements, not a multiple of ", parts));
  }
  return static_cast<uint32_t>(count / parts);
}

// D from the first dimension of the first table: D codes and D/32 scales.
absl::StatusOr<uint32_t> HeadDim(const GgufModel& model, const StatedConstants& stated) {
  ENGRAM_ASSIGN_OR_RETURN(const GgufTensor tensor, model.FindTensor(TensorName(stated.layer_ids->front())));
  const uint64_t row_bytes = tensor.dims.empty() ? 0 : tensor.dims[0];
  const uint64_t blocks = row_bytes / kBlockBytes;
  if (tensor.dims.size() != 2 || blocks == 0 || row_bytes % kBlockBytes != 0 || blocks > 65536 / kScaleBlock) {
    return absl::InvalidArgumentError(
        absl::StrCat(tensor.path, ": tensor ", tensor.name, ": has ", tensor.dims.size(), " dims, the first ",
                     row_bytes, "; expected 2, the first a multiple of ", kBlockBytes, " for D up to 65536"));
  }
  return static_cast<uint32_t>(blocks * kScaleBlock);
}

absl::Status CheckEncoding(const GgufFile& file, const StatedConstants& stated, uint32_t row_bytes) {
  ENGRAM_ASSIGN_OR_RETURN(const std::string encoding, file.String(absl::StrCat(stated.key_prefix, "encoding")));
  const std::string expected = absl::StrCat("e4m3_e8m0_32_row", row_bytes);
  if (encoding == expected) return absl::OkStatus();
  return Malformed(stated, "encoding", absl::StrCat("is \"", encoding, "\", expected \"", expected, "\""));
}

absl::StatusOr<Geometry> GeometryOf(const GgufModel& model, const StatedConstants& stated) {
  if (!stated.rows) return Malformed(stated, "rows", "is missing: the file states constants, but no tables");
  if (!stated.compressed_vocab_size) return Malformed(stated, "compressed_vocab_size", "is missing");
  Geometry geometry;
  ENGRAM_ASSIGN_OR_RETURN(geometry.layer_ids, Narrowed<uint32_t>(stated, "layer_ids", *stated.layer_ids));
  ENGRAM_ASSIGN_OR_RETURN(geometry.rows, Narrowed<uint64_t>(stated, "rows", *stated.rows));
  const size_t layers = geometry.layers();
  ENGRAM_ASSIGN_OR_RETURN(geometry.max_ngram_size, Share(stated, "multipliers", stated.multipliers.size(), layers));
  ENGRAM_ASSIGN_OR_RETURN(geometry.heads,
                          Share(stated, "primes", stated.primes.size(), layers * (geometry.max_ngram_size - 1)));
  ENGRAM_ASSIGN_OR_RETURN(geometry.head_dim, HeadDim(model, stated));
  geometry.vocab_size = static_cast<uint32_t>(stated.token_map.size());
  ENGRAM_ASSIGN_OR_RETURN(const std::vector<uint32_t> classes,
                          Narrowed<uint32_t>(stated, "compressed_vocab_size", {*stated.compressed_vocab_size}));
  geometry.compressed_vocab_size = classes[0];
  ENGRAM_RETURN_IF_ERROR(Annotate(geometry.Validate(), stated.path));
  return geometry;
}

// Codes and scales of a row lie behind each other in one I8 tensor.
absl::StatusOr<TableFiles> LocateTable(const GgufModel& model, const Geometry& geometry, size_t layer_index) {
  const uint32_t row_bytes = geometry.packed_row_bytes();
  const uint64_t rows = geometry.rows[layer_index];
  ENGRAM_ASSIGN_OR_RETURN(const GgufTensor tensor, model.FindTensor(TensorName(geometry.layer_ids[layer_index])));
  ENGRAM_RETURN_IF_ERROR(CheckGgufTensor(tensor, kGgufTensorI8, {row_bytes, rows}));
  return TableFiles{rows,
                    {tensor.path, tensor.offset, row_bytes, geometry.head_dim},
                    {tensor.path, tensor.offset + geometry.head_dim, row_bytes, geometry.scales()}};
}

}  // namespace

absl::StatusOr<Checkpoint> OpenGgufCheckpoint(const std::string& path, const std::string& hash_constants_path) {
  Checkpoint checkpoint;
  ENGRAM_ASSIGN_OR_RETURN(const GgufModel model, GgufModel::Open(path));
  ENGRAM_ASSIGN_OR_RETURN(const StatedConstants stated, ReadGgufConstants(model.metadata()));
  ENGRAM_ASSIGN_OR_RETURN(checkpoint.geometry, GeometryOf(model, stated));
  const Geometry& geometry = checkpoint.geometry;
  ENGRAM_RETURN_IF_ERROR(CheckEncoding(model.metadata(), stated, geometry.packed_row_bytes()));
  for (size_t i = 0; i < geometry.layers(); ++i) {
    ENGRAM_ASSIGN_OR_RETURN(TableFiles table, LocateTable(model, geometry, i));
    checkpoint.tables.push_back(std::move(table));
  }
  ENGRAM_ASSIGN_OR_RETURN(checkpoint.constants, ResolveConstants(stated, geometry, std::nullopt));
  ENGRAM_RETURN_IF_ERROR(CheckAgreement("multipliers", checkpoint.constants.multipliers, path,
                                        DeriveMultipliers(geometry),
                                        "what layer_ids and compressed_vocab_size determine"));
  ENGRAM_RETURN_IF_ERROR(CheckPrimesAreARun(geometry, checkpoint.constants.primes, path));
  if (hash_constants_path.empty()) return checkpoint;
  ENGRAM_ASSIGN_OR_RETURN(StatedConstants given, ReadStatedConstants(hash_constants_path));
  if (!given.pad_id) given.pad_id = checkpoint.constants.pad_id;  // safetensors need not state one to compare
  ENGRAM_ASSIGN_OR_RETURN(const HashConstants other, ResolveConstants(given, geometry, std::nullopt));
  ENGRAM_RETURN_IF_ERROR(CheckAgreement(checkpoint.constants, path, other, hash_constants_path));
  return checkpoint;
}

}  // namespace engram
