// What the plain service sends for accepted segments.

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "tests/unit/client/plain_service.h"

namespace engram {
namespace {

constexpr size_t kFrameTokens = 7;  // small: most steps come in several frames

}  // namespace

void PlainService::SendLayer(const v1::StepRequest& step, uint32_t layer, const std::vector<Window>& windows,
                             FakeStream& stream) {
  const auto layer_index = static_cast<size_t>(oracle_.geometry().LayerIndex(layer));
  uint64_t token = 0;
  for (size_t i = 0; i < windows.size(); ++i) {
    const Window& window = windows[i];
    const auto tokens = static_cast<size_t>(step.segments(static_cast<int>(i)).token_ids_size());
    const bool refused = window.ids.size() != window.lookback + tokens;
    for (size_t begin = 0; begin < tokens && !refused; begin += kFrameTokens) {
      v1::StepReply frame;
      frame.set_step_id(step.step_id());
      frame.set_layer(layer);
      frame.set_token_begin(token + begin);
      frame.set_token_count(std::min(kFrameTokens, tokens - begin));
      for (size_t t = begin; t < begin + frame.token_count(); ++t) AppendToken(step, layer_index, window, t, frame);
      Write(stream, frame);
    }
    token += tokens;
  }
}

void PlainService::AppendToken(const v1::StepRequest& step, size_t layer_index, const Window& window, size_t index,
                               v1::StepReply& frame) {
  const size_t at = window.lookback + index;
  if (step.omit_masked_rows() && window.ids[at] == kDead) return;
  const std::vector<uint64_t> rows =
      PlainRowIds(oracle_.geometry(), oracle_.constants(), layer_index, window.ids, at, window.start_pos + index);
  for (const uint64_t row : rows) {
    const bool flip = ++rows_sent_ == faults_.flip_row || std::exchange(flip_next_, false);
    if (step.format() == v1::ROW_FORMAT_HASH_IDS) {
      frame.add_hash_ids(flip ? row ^ 1 : row);
      continue;
    }
    std::string bytes = RowOf(step.format(), layer_index, row);
    if (flip) bytes[5] = static_cast<char>(bytes[5] ^ 0x10);
    frame.mutable_rows()->append(bytes);
  }
}

std::string PlainService::RowOf(v1::RowFormat format, size_t layer_index, uint64_t row) const {
  const Geometry& geometry = oracle_.geometry();
  std::string packed(geometry.packed_row_bytes(), '\0');
  auto* bytes = reinterpret_cast<uint8_t*>(packed.data());
  EXPECT_TRUE(oracle_.ReadPacked(layer_index, row, absl::MakeSpan(bytes, packed.size())).ok());
  if (format == v1::ROW_FORMAT_PACKED) return packed;
  std::vector<uint16_t> values(geometry.head_dim);
  oracle_.Dequantize(absl::MakeConstSpan(bytes, packed.size()), absl::MakeSpan(values));
  for (uint16_t& value : values) {
    if (faults_.lose_minus_zero && value == 0x8000) value = 0;
  }
  return std::string(reinterpret_cast<const char*>(values.data()), 2 * values.size());
}

}  // namespace engram
