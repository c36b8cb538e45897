// The rows of an answer against those of the files.

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/tool/comparer.h"

namespace engram {
namespace {

bool IsNan(uint16_t bf16) { return (bf16 & 0x7FFF) > 0x7F80; }
bool IsMinusZero(uint16_t bf16) { return bf16 == 0x8000; }

}  // namespace

std::string Comparer::Describe(const Place& place) {
  const ExpectedSegment& segment = *place.segment;
  return absl::StrFormat("session %d, position %d, token %d, layer %d, column %d, row %d", segment.session_id,
                         segment.start_pos + place.index, segment.tokens[place.index], place.layer, place.column,
                         place.row);
}

absl::Status Comparer::CompareLayer(const ExpectedStep& expected, uint32_t layer, const LayerRows& rows) {
  uint64_t token = 0;
  Place place;
  place.layer = layer;
  place.layer_index = static_cast<size_t>(oracle_.geometry().LayerIndex(layer));
  for (const ExpectedSegment& segment : expected.segments) {
    if (segment.code != 0) {
      token += segment.tokens.size();
      continue;
    }
    place.segment = &segment;
    for (place.index = 0; place.index < segment.tokens.size(); ++place.index, ++token) {
      const bool masked = segment.window[segment.lookback + place.index] == kDead;
      if (masked && expected.omit_masked_rows) continue;
      if (absl::Status status = CompareToken(expected, place, token, rows); !status.ok()) return status;
    }
  }
  return absl::OkStatus();
}

absl::Status Comparer::CompareToken(const ExpectedStep& expected, Place place, uint64_t token, const LayerRows& rows) {
  const ExpectedSegment& segment = *place.segment;
  const std::vector<uint64_t> ids =
      PlainRowIds(oracle_.geometry(), oracle_.constants(), place.layer_index, segment.window,
                  segment.lookback + place.index, segment.start_pos + place.index);
  for (place.column = 0; place.column < ids.size(); ++place.column) {
    place.row = ids[place.column];
    const absl::Status status = CompareRow(expected.format, place, rows.row(token, place.column));
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Comparer::CompareRow(v1::RowFormat format, const Place& place, absl::Span<const uint8_t> row) {
  ++counts_.rows;
  counts_.bytes += row.size();
  if (row.empty()) {
    Differs([&] { return absl::StrCat(Describe(place), ": no row came"); });
    return absl::OkStatus();
  }
  if (format == v1::ROW_FORMAT_HASH_IDS) {
    uint64_t id = 0;
    std::memcpy(&id, row.data(), sizeof(id));
    if (id != place.row) Differs([&] { return absl::StrCat(Describe(place), ": received row id ", id); });
    return absl::OkStatus();
  }
  ++counts_.table_rows;
  if (absl::Status status = oracle_.ReadPacked(place.layer_index, place.row, absl::MakeSpan(packed_)); !status.ok()) {
    return status;
  }
  if (options_.holes_fail && std::all_of(packed_.begin(), packed_.end(), [](uint8_t byte) { return byte == 0; })) {
    Differs([&] { return absl::StrCat(Describe(place), ": hole (the checkpoint was not written there)"); });
  }
  format == v1::ROW_FORMAT_BF16 ? CompareBf16(place, row) : ComparePacked(place, row);
  return absl::OkStatus();
}

void Comparer::ComparePacked(const Place& place, absl::Span<const uint8_t> row) {
  if (std::any_of(row.begin(), row.end(), [](uint8_t byte) { return byte != 0; })) ++counts_.nonzero_rows;
  const auto wanted = std::mismatch(packed_.begin(), packed_.end(), row.begin()).first;
  if (wanted == packed_.end()) return;
  Differs([&] {
    const auto byte = static_cast<size_t>(wanted - packed_.begin());
    return absl::StrFormat("%s, byte %d: expected 0x%02x, received 0x%02x", Describe(place), byte, *wanted, row[byte]);
  });
}

void Comparer::CompareBf16(const Place& place, absl::Span<const uint8_t> row) {
  oracle_.Dequantize(packed_, absl::MakeSpan(values_));
  bool nonzero = false;
  bool same = true;
  for (size_t i = 0; i < values_.size(); ++i) {
    uint16_t got = 0;
    std::memcpy(&got, row.data() + 2 * i, sizeof(got));
    nonzero = nonzero || (got & 0x7FFF) != 0;
    const uint16_t wanted = options_.minus_zero_lost && IsMinusZero(values_[i]) ? uint16_t{0} : values_[i];
    if (!same || got == wanted || (IsNan(got) && IsNan(wanted))) continue;
    same = false;
    Differs([&] {
      return absl::StrFormat("%s, value %d: expected bf16 0x%04x, received 0x%04x", Describe(place), i, wanted, got);
    });
  }
  if (nonzero) ++counts_.nonzero_rows;
}

}  // namespace engram
