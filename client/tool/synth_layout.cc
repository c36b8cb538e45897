#include "client/tool/synth_layout.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/tool/synth_rows.h"

namespace engram {
namespace {

// A larger projection is left out: the service has no use for it.
constexpr uint64_t kProjectionBytesMax = 8 << 20;
constexpr uint64_t kProjectionLayer = uint64_t{1} << 32;  // its rows are drawn as those of layer id + 2^32

SynthTensor Table(std::string name, std::string dtype, uint64_t rows, uint64_t width) {
  return {std::move(name), std::move(dtype), {rows, width}, rows * width, {}, 0};
}

SynthTensor Filled(std::string name, std::string dtype, std::vector<uint64_t> shape, std::string content) {
  const uint64_t bytes = content.size();
  return {std::move(name), std::move(dtype), std::move(shape), bytes, std::move(content), 0};
}

// Bytes no table holds (NaN codes), so that reading the wrong tensor shows.
SynthTensor Other(std::string name, std::string dtype, std::vector<uint64_t> shape, uint64_t bytes) {
  return Filled(std::move(name), std::move(dtype), std::move(shape), std::string(bytes, '\xFF'));
}

std::string Repeated(std::string_view pattern, uint64_t times) {
  std::string text;
  text.reserve(pattern.size() * times);
  for (uint64_t i = 0; i < times; ++i) text.append(pattern);
  return text;
}

// Drawn like table rows; one scale, 2^-7, for all blocks.
std::string ProjectionCodes(uint64_t seed, uint64_t layer_id, uint64_t rows, uint64_t width) {
  std::string codes(rows * width, '\0');
  const uint64_t key = SynthLayerKey(seed, layer_id + kProjectionLayer);
  for (uint64_t r = 0; r < rows; ++r) {
    SynthRow(key, r, absl::MakeSpan(reinterpret_cast<uint8_t*>(codes.data()) + r * width, width), {});
  }
  return codes;
}

void AddProjection(const Geometry& geometry, const SynthProjection& projection, uint64_t seed, uint32_t layer_id,
                   std::vector<SynthTensor>& tensors) {
  if (projection.dim == 0 || projection.hc_mult == 0) return;
  const std::string prefix = absl::StrCat("layers.", layer_id, ".engram.");
  const uint64_t gate = projection.dim * projection.hc_mult;
  const uint64_t rows = gate + projection.dim;
  const uint64_t width = uint64_t{geometry.columns()} * geometry.head_dim;
  for (const char* name : {"q_weight", "k_weight"}) {
    if (2 * gate > kProjectionBytesMax) break;
    tensors.push_back(Filled(prefix + name, "BF16", {projection.hc_mult, projection.dim}, Repeated("\x80\x3F", gate)));
  }
  if (rows > kProjectionBytesMax / width || rows % kScaleBlock != 0) return;
  tensors.push_back(
      Filled(prefix + "wkv.weight", "F8_E4M3", {rows, width}, ProjectionCodes(seed, layer_id, rows, width)));
  tensors.push_back(Filled(prefix + "wkv.scale", "F8_E8M0", {rows / kScaleBlock, width / kScaleBlock},
                           std::string(rows / kScaleBlock * (width / kScaleBlock), '\x78')));
}

// Offsets of the tensors, and the header that states them.
void Close(SynthShard& shard) {
  nlohmann::json header = {{"__metadata__", {{"format", "pt"}}}};
  uint64_t end = 0;
  for (SynthTensor& tensor : shard.tensors) {
    header[tensor.name] = {
        {"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {end, end + tensor.bytes}}};
    tensor.offset = end;
    end += tensor.bytes;
  }
  const std::string json = header.dump();
  for (int i = 0; i < 8; ++i) shard.header += static_cast<char>(json.size() >> (8 * i) & 0xFF);
  shard.header += json;
  for (SynthTensor& tensor : shard.tensors) tensor.offset += shard.header.size();
  shard.bytes = shard.header.size() + end;
}

}  // namespace

uint64_t SynthLayout::bytes() const {
  uint64_t sum = 0;
  for (const SynthShard& shard : shards) sum += shard.bytes;
  return sum;
}

std::string SynthLayout::IndexJson() const {
  nlohmann::json map = nlohmann::json::object();
  uint64_t total = 0;
  for (const SynthShard& shard : shards) {
    for (const SynthTensor& tensor : shard.tensors) {
      map[tensor.name] = shard.file_name;
      total += tensor.bytes;
    }
  }
  return nlohmann::json{{"metadata", {{"total_size", total}}}, {"weight_map", std::move(map)}}.dump(1);
}

SynthLayout PlanSynthLayout(const Geometry& geometry, const SynthProjection& projection, uint64_t seed, size_t shards) {
  SynthLayout layout;
  layout.shards.resize(shards);
  for (size_t i = 0; i < shards; ++i) {
    layout.shards[i].file_name = absl::StrFormat("model-%05d-of-%05d.safetensors", i + 1, shards);
    layout.shards[i].tensors.push_back(
        Other(absl::StrCat("layers.0.ffn.experts.", i, ".w1.weight"), "F4", {2, 2 * i + 3}, 2 * i + 3));
  }
  std::vector<SynthTensor>& first = layout.shards[0].tensors;
  first.push_back(Other("embed.weight", "BF16", {8, 16}, 8 * 16 * 2));
  first.push_back(Other("layers.0.attn.wq_a.weight", "F8_E4M3", {32, 32}, 32 * 32));
  first.push_back(Other("layers.0.attn.wq_a.scale", "F8_E8M0", {1, 1}, 1));
  first.push_back(Other("layers.0.ffn.gate.tid2eid", "I64", {0, 6}, 0));
  std::vector<std::pair<size_t, size_t>> codes_at, scales_at;  // shard, index in it
  const auto add = [&](size_t shard, SynthTensor tensor) {
    layout.shards[shard % shards].tensors.push_back(std::move(tensor));
    return std::pair(shard % shards, layout.shards[shard % shards].tensors.size() - 1);
  };
  for (size_t l = 0; l < geometry.layers(); ++l) {
    const std::string prefix = absl::StrCat("layers.", geometry.layer_ids[l], ".engram.embed.");
    codes_at.push_back(add(2 * l, Table(prefix + "weight", "F8_E4M3", geometry.rows[l], geometry.head_dim)));
    scales_at.push_back(add(2 * l + 1, Table(prefix + "scale", "F8_E8M0", geometry.rows[l], geometry.scales())));
    AddProjection(geometry, projection, seed, geometry.layer_ids[l], layout.shards[(2 * l + 1) % shards].tensors);
  }
  for (SynthShard& shard : layout.shards) Close(shard);
  for (size_t l = 0; l < geometry.layers(); ++l) {
    const auto offset = [&](std::pair<size_t, size_t> at) { return layout.shards[at.first].tensors[at.second].offset; };
    layout.tables.push_back({codes_at[l].first, offset(codes_at[l]), scales_at[l].first, offset(scales_at[l])});
  }
  return layout;
}

}  // namespace engram
