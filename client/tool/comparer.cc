#include "client/tool/comparer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace engram {
namespace {

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
  received += other.received;
  table_rows += other.table_rows;
  nonzero_rows += other.nonzero_rows;
  mismatches += other.mismatches;
  cancels += other.cancels;
  cancelled += other.cancelled;
  shared += other.shared;
  return *this;
}

std::string Summary(const CompareCounts& counts) {
  return absl::StrCat(counts.steps, " steps, ", counts.rows, " rows, ", counts.mismatches, " mismatches");
}

std::string UniqueRowsLine(bool asked, const CompareCounts& counts) {
  if (!asked || counts.bytes == 0) return "";
  const double share = 100 * static_cast<double>(counts.received) / static_cast<double>(counts.bytes);
  return absl::StrFormat("unique rows: %d bytes came for %d bytes compared, %.1f %%\n", counts.received, counts.bytes,
                         share);
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

absl::Status Comparer::Compare(const ExpectedStep& expected, const StepResult& result) {
  ++counts_.steps;
  if (result.through_shared_memory) ++counts_.shared;
  counts_.received += result.received_bytes;
  if (expected.cancelled) ++counts_.cancels;
  if (expected.cancelled && absl::IsCancelled(result.status)) {
    CompareCancelled(expected, result);
    return absl::OkStatus();
  }
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

void Comparer::CompareCancelled(const ExpectedStep& expected, const StepResult& result) {
  ++counts_.cancelled;
  if (result.segments.size() > expected.segments.size()) {
    Differs([&] {
      return absl::StrCat("step ", result.step_id, ", cancelled: results of ", result.segments.size(), " segments for ",
                          expected.segments.size());
    });
    return;
  }
  for (size_t i = 0; i < result.segments.size(); ++i) CompareSegment(expected, i, result);
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

}  // namespace engram
