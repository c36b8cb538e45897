#include "client/pending_step.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace engram {

PendingStep::PendingStep(uint64_t step_id, StepShape shape, std::function<void(StepResult)> done,
                         std::shared_ptr<SegmentPlace> place)
    : shape_(std::move(shape)),
      next_tokens_(shape_.layers.size(), 0),
      done_(std::move(done)),
      place_(std::move(place)) {
  result_.step_id = step_id;
  for (uint32_t layer : shape_.layers) {
    result_.layers.emplace_back(layer, shape_.tokens(), shape_.columns, shape_.row_bytes, shape_.keep_unique);
  }
}

absl::Status PendingStep::Wrong(const std::string& what) const {
  return absl::InternalError(absl::StrCat("the server's answer to step ", step_id(), " makes no sense: ", what));
}

absl::Status PendingStep::Apply(const v1::StepReply& frame, const FrameRows& rows) {
  absl::Status status = TakeResults(frame);
  if (status.ok()) status = place_ != nullptr ? TakePlacedRows(frame, rows) : TakeRows(frame, rows);
  if (!status.ok() || !frame.last()) return status;

  result_.table_version = frame.table_version();
  absl::Status outcome = StatusOfCode(frame.code(), frame.message());
  if (outcome.ok()) status = CheckComplete();
  if (status.ok()) Finish(std::move(outcome));
  return status;
}

absl::Status PendingStep::TakeResults(const v1::StepReply& frame) {
  const size_t results = result_.segments.size() + static_cast<size_t>(frame.results_size());
  if (results > shape_.segments()) {
    return Wrong(absl::StrCat("results for ", results, " of ", shape_.segments(), " segments"));
  }
  result_.segments.insert(result_.segments.end(), frame.results().begin(), frame.results().end());
  return absl::OkStatus();
}

absl::Status PendingStep::TakeRows(const v1::StepReply& frame, const FrameRows& rows) {
  if (frame.place_bytes() > 0) return Wrong("rows in shared memory, which it has no place in");
  if (frame.token_count() == 0) {
    const bool rows_too = rows.size > 0 || frame.hash_ids_size() > 0 || frame.row_index_size() > 0;
    return rows_too ? Wrong("rows without tokens") : absl::OkStatus();
  }
  if (shape_.hash_ids ? rows.size > 0 : frame.hash_ids_size() > 0) return Wrong("rows in another format");
  if (frame.row_index_size() > 0 && !shape_.unique_rows) return Wrong("row_index, not asked for");
  size_t layer_index = 0;
  if (absl::Status status = BeginRows(frame, layer_index); !status.ok()) return status;
  result_.received_bytes += rows.size + static_cast<uint64_t>(frame.row_index_size()) * sizeof(uint32_t) +
                            static_cast<uint64_t>(frame.hash_ids_size()) * sizeof(uint64_t);
  if (shape_.hash_ids) return CopyHashIds(layer_index, frame);
  if (frame.row_index_size() > 0) {
    if (absl::Status status = CheckRowIndex(frame, rows.size); !status.ok()) return status;
  }
  if (shape_.keep_unique) return KeepUnique(layer_index, frame, rows);
  if (frame.row_index_size() > 0) return CopyUnique(layer_index, frame, rows);
  return CopyRows(layer_index, frame.token_begin(), frame.token_begin() + frame.token_count(), rows);
}

absl::Status PendingStep::BeginRows(const v1::StepReply& frame, size_t& layer_index) {
  if (absl::Status status = CheckRange(frame); !status.ok()) return status;
  const auto found = std::find(shape_.layers.begin(), shape_.layers.end(), frame.layer());
  if (found == shape_.layers.end()) return Wrong(absl::StrCat("rows of layer ", frame.layer(), ", not asked for"));
  layer_index = static_cast<size_t>(found - shape_.layers.begin());
  if (absl::Status status = GiveMemory(result_.layers[layer_index]); !status.ok()) return status;
  if (absl::Status status = SkipTo(layer_index, frame.token_begin()); !status.ok()) return status;
  const uint64_t end = frame.token_begin() + frame.token_count();
  if (absl::Status status = CheckSegments(frame.token_begin(), end, true); !status.ok()) return status;
  next_tokens_[layer_index] = end;
  return absl::OkStatus();
}

absl::Status PendingStep::CheckRange(const v1::StepReply& frame) const {
  const uint64_t begin = frame.token_begin();
  if (begin <= shape_.tokens() && frame.token_count() <= shape_.tokens() - begin) return absl::OkStatus();
  return Wrong(
      absl::StrCat("tokens from ", begin, ", ", frame.token_count(), " of them, in a step of ", shape_.tokens()));
}

absl::Status PendingStep::SkipTo(size_t layer_index, uint64_t token) {
  const uint64_t next = next_tokens_[layer_index];
  if (token == next) return absl::OkStatus();
  LayerRows& layer = result_.layers[layer_index];
  if (token < next) {
    return Wrong(absl::StrCat("layer ", layer.layer(), " goes back from token ", next, " to ", token));
  }
  if (absl::Status status = CheckSegments(next, token, false); !status.ok()) return status;
  layer.SetUnsent(next, token);
  next_tokens_[layer_index] = token;
  return absl::OkStatus();
}

absl::Status PendingStep::CheckSegments(uint64_t begin, uint64_t end, bool accepted) const {
  const auto& begins = shape_.segment_begins;
  const auto after = std::upper_bound(begins.begin(), begins.end(), begin);
  for (auto index = static_cast<size_t>(after - begins.begin()) - 1; index < shape_.segments() && begins[index] < end;
       ++index) {
    if (begins[index] == begins[index + 1]) continue;
    if (index >= result_.segments.size()) return Wrong(absl::StrCat("rows before the result of segment ", index));
    if ((result_.segments[index].code() == 0) != accepted) {
      return Wrong(absl::StrCat(accepted ? "rows of the refused segment " : "no rows of the accepted segment ", index));
    }
  }
  return absl::OkStatus();
}

absl::Status PendingStep::CheckComplete() {
  if (result_.segments.size() != shape_.segments()) {
    return Wrong(absl::StrCat(result_.segments.size(), " results for ", shape_.segments(), " segments"));
  }
  for (size_t index = 0; index < result_.layers.size() && shape_.tokens() > 0; ++index) {
    LayerRows& layer = result_.layers[index];
    if (absl::Status status = GiveMemory(layer); !status.ok()) return status;
    if (absl::Status status = SkipTo(index, shape_.tokens()); !status.ok()) return status;
  }
  return absl::OkStatus();
}

void PendingStep::Finish(absl::Status status) {
  result_.status = std::move(status);
  result_.through_shared_memory = placed_ > 0;
  if (!result_.status.ok()) result_.layers.clear();
  place_.reset();  // layers that lie there hold it
  if (done_) done_(std::move(result_));
  finished_.Notify();
}

StepResult PendingStep::Take() {
  finished_.WaitForNotification();
  return std::move(result_);
}

}  // namespace engram
