#include "row_check.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "client/tool/oracle.h"
#include "client/tool/synth_rows.h"
#include "model/files/errors.h"

namespace engram {
namespace {

constexpr uint16_t kBf16MinusZero = 0x8000;

}  // namespace

RowCheck::RowCheck(const BenchInput& input)
    : input_(input), packed_(input.geometry().packed_row_bytes()), bf16_(input.geometry().bf16_row_bytes()) {
  for (const uint32_t layer_id : input.geometry().layer_ids) layer_keys_.push_back(SynthLayerKey(input.seed, layer_id));
}

absl::Status RowCheck::Row(RowForm form, size_t layer_index, uint64_t row, const std::byte* bytes,
                           MinusZero minus_zero) {
  const Geometry& geometry = input_.geometry();
  const auto codes = absl::MakeSpan(packed_).first(geometry.head_dim);
  const auto scales = absl::MakeSpan(packed_).subspan(geometry.head_dim);
  SynthRow(layer_keys_[layer_index], row, codes, scales);
  if (form == RowForm::kBf16) {
    for (size_t i = 0; i < codes.size(); ++i) {
      uint16_t value = PlainBf16(codes[i], scales[i / kScaleBlock]);
      if (value == kBf16MinusZero && minus_zero == MinusZero::kLost) value = 0;
      std::memcpy(&bf16_[2 * i], &value, sizeof(value));
    }
  }
  const std::vector<uint8_t>& wanted = form == RowForm::kBf16 ? bf16_ : packed_;
  const auto* found = reinterpret_cast<const uint8_t*>(bytes);
  const auto differs = std::mismatch(wanted.begin(), wanted.end(), found);
  if (differs.first != wanted.end()) {
    return absl::DataLossError(absl::StrCat("layer ", geometry.layer_ids[layer_index], ", row ", row, ": byte ",
                                            differs.first - wanted.begin(), " is ", int{*differs.second}, ", wanted ",
                                            int{*differs.first}));
  }
  ++rows_;
  return absl::OkStatus();
}

absl::Status RowCheck::Token(size_t layer_index, uint64_t begin, uint64_t position, const std::byte* bytes) {
  const Geometry& geometry = input_.geometry();
  const uint64_t lookback = std::min<uint64_t>(position, geometry.max_ngram_size - 1);
  std::vector<int32_t> window;
  for (uint64_t at = position - lookback; at <= position; ++at) {
    window.push_back(input_.compressed[(begin + at) % input_.compressed.size()]);
  }
  const std::vector<uint64_t> rows =
      PlainRowIds(geometry, input_.checkpoint.constants, layer_index, window, lookback, position);
  for (const uint64_t row : rows) {
    ENGRAM_RETURN_IF_ERROR(Row(RowForm::kPacked, layer_index, row, bytes));
    bytes += geometry.packed_row_bytes();
  }
  return absl::OkStatus();
}

}  // namespace engram
