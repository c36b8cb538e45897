#include "client/tool/comparer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace engram {
namespace {

bool IsNan(uint16_t bf16) { return (bf16 & 0x7FFF) > 0x7F80; }
bool IsMinusZero(uint16_t bf16) { return bf16 == 0x8000; }

std::string IdsOf(const v1::HashState& state) {
  return absl::StrCat("position ", state.position(), ", ", state.compressed_ids_size(), " ids, digest of ",
                      state.constants_digest().size(), " bytes: ", state.ShortDebugString());
}

bool SameState(const v1::HashState& a, const v1::HashState& b) {
  return a.position() == b.position() && a.constants_digest() == b.constants_digest() &&
         std::equal(a.compressed_ids().begin(), a.compressed_ids().end(), b.compressed_ids().begin(),
                    b.compressed_ids().end());
}

}  // namespace

CompareCounts& CompareCounts::operator+=(const CompareCounts& other) {
  steps += other.steps;
  tokens += other.tokens;
  rows += other.rows;
  bytes += other.bytes;
  table_rows += other.table_rows;
  nonzero_rows += other.nonzero_rows;
  mismatches += other.mismatches;
  return *this;
}

std::string Summary(const CompareCounts& counts) {
  return absl::StrCat(counts.steps, " steps, ", counts.rows, " rows, ", counts.mismatches, " mismatches");
}

Comparer::Comparer(const Oracle& oracle, ComparerOptions options)
    : oracle_(oracle),
      options_(options),
      packed_(oracle.geometry().packed_row_bytes()),
      values_(oracle.geometry().head_dim) {}

CompareCounts Comparer::TakeCounts() { return std::exchange(counts_, CompareCounts()); }

void Comparer::Differs(absl::FunctionRef<std::string()> what) {
  ++counts_.mismatches;
  if (first_mismatch_.empty()) first_mismatch_ = what();
}

std::string Comparer::Describe(const Place& place) {
  const ExpectedSegment& segment = *place.segment;
  return absl::StrFormat("session %d, position %d, token %d, layer %d, column %d, row %d", segment.session_id,
                         segment.start_pos + place.index, segment.tokens[place.index], place.layer, place.column,
                         place.row);
}

absl::Status Comparer::Compare(const ExpectedStep& expected, const StepResult& result) {
  ++counts_.steps;
  if (!result.status.ok()) {
    Differs(
        [&] { return absl::StrCat("step ", result.step_id, ": expected OK, received ", result.status.ToString()); });
    return absl::OkStatus();
  }
  if (result.segments.size() != expected.segments.size()) {
    Differs([&] {
      return absl::StrCat("step ", result.step_id, ": expected results of ", expected.segments.size(),
                          " segments, received ", result.segments.size());
    });
    return absl::OkStatus();
  }
  for (size_t i = 0; i < expected.segments.size(); ++i) {
    CompareSegment(expected, i, result);
    if (expected.segments[i].code == 0) counts_.tokens += expected.segments[i].tokens.size();
  }
  for (uint32_t layer : expected.layers.empty() ? oracle_.geometry().layer_ids : expected.layers) {
    const LayerRows* rows = result.layer(layer);
    if (rows == nullptr) {
      Differs([&] { return absl::StrCat("step ", result.step_id, ": no rows of layer ", layer); });
      continue;
    }
    if (absl::Status status = CompareLayer(expected, layer, *rows); !status.ok()) return status;
  }
  return absl::OkStatus();
}

void Comparer::CompareSegment(const ExpectedStep& expected, size_t index, const StepResult& result) {
  const ExpectedSegment& wanted = expected.segments[index];
  const v1::SegmentResult& got = result.segments[index];
  const auto where = [&] {
    return absl::StrCat("step ", result.step_id, ", segment ", index, " (session ", wanted.session_id, ", start_pos ",
                        wanted.start_pos, ", ", wanted.tokens.size(), " tokens): ");
  };
  if (got.session_id() != wanted.session_id) {
    Differs([&] { return absl::StrCat(where(), "the result is session ", got.session_id(), "'s"); });
  }
  if (got.code() != wanted.code) {
    Differs([&] {
      return absl::StrCat(where(), "expected code ", wanted.code, ", received ", got.code(), ": ", got.message());
    });
    return;
  }
  if (wanted.code != 0) return;
  if (got.length() != wanted.length()) {
    Differs([&] { return absl::StrCat(where(), "expected length ", wanted.length(), ", received ", got.length()); });
  }
  if (got.has_state() != expected.return_states) {
    Differs([&] {
      return absl::StrCat(where(), expected.return_states ? "no state came" : "a state came that was not asked for");
    });
  }
  if (!expected.return_states || !got.has_state()) return;
  const v1::HashState state = StateAt(wanted.length(), oracle_.geometry().max_ngram_size - 1, wanted.window,
                                      oracle_.checkpoint().constants_digest);
  if (!SameState(state, got.state())) {
    Differs([&] { return absl::StrCat(where(), "expected state ", IdsOf(state), "; received ", IdsOf(got.state())); });
  }
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
