#include "model/geometry.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace engram {
namespace {

// `field` within [low, high], or an error that says all four.
absl::Status CheckRange(std::string_view field, uint64_t value, uint64_t low, uint64_t high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(absl::string_view(field.data(), field.size()), " = ", value, " is outside [", low, ", ", high, "]"));
}

absl::Status CheckLayers(const Geometry& geometry) {
  if (geometry.layer_ids.empty()) return absl::InvalidArgumentError("engram_layer_ids is empty: need at least 1 layer");
  absl::Status status = CheckRange("number of engram_layer_ids", geometry.layers(), 1, kLayersMax);
  if (!status.ok()) return status;
  std::vector<uint32_t> sorted = geometry.layer_ids;
  std::sort(sorted.begin(), sorted.end());
  const auto repeated = std::adjacent_find(sorted.begin(), sorted.end());
  if (repeated != sorted.end()) {
    return absl::InvalidArgumentError(absl::StrCat("engram_layer_ids names layer ", *repeated, " more than once"));
  }
  if (geometry.rows.size() != geometry.layers()) {
    return absl::InvalidArgumentError(absl::StrCat("engram_num_embeddings has ", geometry.rows.size(), " values for ",
                                                   geometry.layers(), " engram_layer_ids"));
  }
  for (size_t i = 0; i < geometry.rows.size(); ++i) {
    status = CheckRange(absl::StrCat("engram_num_embeddings[", i, "]"), geometry.rows[i], 1, (uint64_t{1} << 48) - 1);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status CheckHeadDim(uint32_t head_dim) {
  if (head_dim % kScaleBlock != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("engram_head_dim = ", head_dim, " is not a multiple of ", kScaleBlock));
  }
  return CheckRange("engram_head_dim", head_dim, kScaleBlock, 65536);
}

}  // namespace

int Geometry::LayerIndex(uint32_t layer_id) const {
  const auto found = std::find(layer_ids.begin(), layer_ids.end(), layer_id);
  return found == layer_ids.end() ? -1 : static_cast<int>(found - layer_ids.begin());
}

absl::Status Geometry::Validate() const {
  for (const absl::Status& status : {
           CheckLayers(*this),
           CheckRange("engram_max_ngram_size", max_ngram_size, 2, 16),
           CheckRange("engram_n_heads", heads, 1, 1024),
           CheckHeadDim(head_dim),
           CheckRange("vocab_size", vocab_size, 1, INT32_MAX),
           CheckRange("engram_compressed_vocab_size", compressed_vocab_size, 1, INT32_MAX),
       }) {
    if (!status.ok()) return status;
  }
  return CheckRange("engram_layer_ids times columns", layers() * columns(), 1, kLayerColumnsMax);
}

}  // namespace engram
