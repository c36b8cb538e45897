#include "tests/sim/sim_model.h"

#include "model/number_formats.h"
#include "tests/unit/server/tiny_model.h"

namespace engram {
namespace {

std::string PackedRow(const Geometry& geometry, size_t layer, uint64_t row) {
  std::string bytes(geometry.packed_row_bytes(), '\0');
  for (size_t at = 0; at < bytes.size(); ++at) bytes[at] = static_cast<char>(SyntheticByte(layer, row, at));
  return bytes;
}

std::string Bf16Row(const Geometry& geometry, const std::string& packed) {
  std::string bytes;
  for (size_t i = 0; i < geometry.head_dim; ++i) {
    const auto scale = static_cast<uint8_t>(packed[geometry.head_dim + i / kScaleBlock]);
    const uint16_t value = DequantizeToBf16(static_cast<uint8_t>(packed[i]), scale);
    bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  return bytes;
}

v1::Model Announced() {
  v1::Model model = TinyModel();
  v1::Limits& limits = *model.mutable_limits();
  limits.set_segments_max(5);
  limits.set_step_tokens_max(60);
  limits.set_steps_in_flight_max(6);
  limits.set_bytes_in_flight_max(60000);
  limits.set_session_tokens_max(SimModel::kSessionTokensMax);
  return model;
}

}  // namespace

SimModel::SimModel() : model(Announced()) {
  Geometry geometry = TinyGeometry();
  const HashConstants constants = TinyConstants(geometry);
  checkpoint = WriteSyntheticCheckpoint(folder, FileLayout::kApart, geometry.head_dim, geometry.rows);
  checkpoint.geometry = geometry;
  checkpoint.constants = constants;
  for (size_t layer = 0; layer < geometry.layers(); ++layer) {
    packed_.emplace_back();
    bf16_.emplace_back();
    for (uint64_t row = 0; row < geometry.rows[layer]; ++row) {
      packed_[layer].push_back(PackedRow(geometry, layer, row));
      bf16_[layer].push_back(Bf16Row(geometry, packed_[layer].back()));
    }
  }
}

std::string SimModel::RowBytes(size_t layer_index, uint64_t row, v1::RowFormat format) const {
  if (format == v1::ROW_FORMAT_PACKED) return packed_[layer_index][row];
  if (format == v1::ROW_FORMAT_BF16) return bf16_[layer_index][row];
  return std::string(reinterpret_cast<const char*>(&row), sizeof(row));
}

}  // namespace engram
