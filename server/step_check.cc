#include "server/step_check.h"

#include <algorithm>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace engram {
namespace {

uint64_t RowBytes(const Geometry& geometry, v1::RowFormat format) {
  switch (format) {
    case v1::ROW_FORMAT_PACKED:
      return geometry.packed_row_bytes();
    case v1::ROW_FORMAT_BF16:
      return geometry.bf16_row_bytes();
    default:
      return sizeof(uint64_t);  // the row's id
  }
}

absl::Status CheckCount(const char* field, uint64_t count, uint32_t max) {
  if (count <= max) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(field, ": ", count, " of them: segments_max is ", max));
}

// The tokens that hashing needs before a segment are free, so that every step may be seeded; what a Lookback has beyond
// them counts as the step's own tokens do, since it costs the same to send and to keep.
absl::Status CheckTokens(const v1::StepRequest& request, uint64_t lookback_free, const StepRoom& room) {
  uint64_t tokens = 0;
  uint64_t lookback = 0;
  for (const v1::Segment& segment : request.segments()) {
    const auto given = static_cast<uint64_t>(segment.lookback().token_ids_size());
    tokens += static_cast<uint64_t>(segment.token_ids_size());
    lookback += given - std::min(given, lookback_free);
  }
  if (tokens + lookback <= room.tokens_max) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("the step has ", tokens + lookback, " tokens, ", lookback,
                                                   " of them long look-back: ", room.tokens_max_name, " is ",
                                                   room.tokens_max));
}

}  // namespace

uint64_t AnsweredTokens(const v1::Segment& segment, bool omit_masked_rows) {
  const auto tokens = static_cast<uint64_t>(segment.token_ids_size());
  if (!omit_masked_rows || segment.token_mask().size() != tokens) return tokens;
  return tokens - static_cast<uint64_t>(std::count(segment.token_mask().begin(), segment.token_mask().end(), '\0'));
}

absl::Status CheckSegmentCount(uint64_t count, const v1::Limits& limits) {
  return CheckCount("segments", count, limits.segments_max());
}

absl::Status StepCheck::Counts(const v1::StepRequest& request, const StepRoom& room) const {
  const auto segments = static_cast<uint64_t>(request.segments_size());
  const auto closes = static_cast<uint64_t>(request.close_sessions_size());
  const uint32_t segments_max = model_.limits().segments_max();
  if (absl::Status status = CheckSegmentCount(segments, model_.limits()); !status.ok()) return status;
  if (absl::Status status = CheckCount("close_sessions", closes, segments_max); !status.ok()) return status;
  if (absl::Status status = CheckTokens(request, geometry_.max_ngram_size - 1, room); !status.ok()) return status;
  const auto zero = std::find(request.close_sessions().begin(), request.close_sessions().end(), 0);
  if (zero != request.close_sessions().end()) {
    return absl::InvalidArgumentError(absl::StrCat("close_sessions[", zero - request.close_sessions().begin(),
                                                   "] = 0: must name a session (0 is stateless)"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<size_t>> StepCheck::Layers(const v1::StepRequest& request) const {
  std::vector<size_t> layers;
  if (request.layers().empty()) {
    for (size_t i = 0; i < geometry_.layers(); ++i) layers.push_back(i);
  }
  for (int i = 0; i < request.layers_size(); ++i) {
    const std::string field = absl::StrCat("layers[", i, "] = ", request.layers(i));
    const int index = geometry_.LayerIndex(request.layers(i));
    if (index < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(field, ": must be an Engram layer (", absl::StrJoin(geometry_.layer_ids, ", "), ")"));
    }
    if (std::find(layers.begin(), layers.end(), static_cast<size_t>(index)) != layers.end()) {
      return absl::InvalidArgumentError(absl::StrCat(field, ": must be there once"));
    }
    layers.push_back(static_cast<size_t>(index));
  }
  std::sort(layers.begin(), layers.end(),
            [this](size_t a, size_t b) { return geometry_.layer_ids[a] < geometry_.layer_ids[b]; });
  return layers;
}

absl::Status StepCheck::Served(const v1::StepRequest& request) const {
  if (!v1::RowFormat_IsValid(request.format())) {
    return absl::InvalidArgumentError(absl::StrCat("format = ", static_cast<int>(request.format()),
                                                   ": must be ROW_FORMAT_PACKED, ROW_FORMAT_BF16 or "
                                                   "ROW_FORMAT_HASH_IDS"));
  }
  if (request.unique_rows() && request.format() == v1::ROW_FORMAT_HASH_IDS) {
    return absl::InvalidArgumentError(
        "unique_rows = true: must be false where format is ROW_FORMAT_HASH_IDS, whose ids say by themselves which rows "
        "are the same");
  }
  const auto& formats = model_.formats();
  if (std::find(formats.begin(), formats.end(), static_cast<int>(request.format())) == formats.end()) {
    return absl::FailedPreconditionError(absl::StrCat("format = ", v1::RowFormat_Name(request.format()),
                                                      ": this server combines by ", model_.combine(),
                                                      ", which cannot serve it (see Model.formats)"));
  }
  if (request.table_version() != 0 && request.table_version() != model_.table_version()) {
    return absl::FailedPreconditionError(
        absl::StrCat("table_version = ", request.table_version(), ": this server has ", model_.table_version()));
  }
  return absl::OkStatus();
}

uint64_t StepCheck::OwedBytes(const Step& step, uint64_t tokens) const {
  const uint64_t token_bytes = geometry_.columns() * RowBytes(geometry_, step.format) * step.layer_indices.size();
  uint64_t bytes = 0;
  return __builtin_mul_overflow(token_bytes, tokens, &bytes) ? std::numeric_limits<uint64_t>::max() : bytes;
}

uint64_t StepCheck::RequestedBytes(const v1::StepRequest& request, const Step& step) const {
  uint64_t tokens = 0;
  for (const v1::Segment& segment : request.segments()) tokens += AnsweredTokens(segment, step.omit_masked_rows);
  return OwedBytes(step, tokens);
}

absl::Status StepCheck::Place(const v1::StepRequest& request, const StepRoom& room, const Step& step) const {
  if (!request.has_place()) return absl::OkStatus();
  if (!room.segment_bytes.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat("place.segment_id = ", request.place().segment_id(),
                                                   ": must be a segment registered on this stream (never in Lookup)"));
  }
  const uint64_t offset = request.place().offset();
  const uint64_t bytes = RequestedBytes(request, step);
  if (offset <= *room.segment_bytes && bytes <= *room.segment_bytes - offset) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("place.offset = ", offset, ": the step's ", bytes,
                                                 " bytes must end within the segment's ", *room.segment_bytes));
}

absl::Status StepCheck::Room(const v1::StepRequest& request, const StepRoom& room, const Step& step) const {
  if (room.steps_free == 0) {
    return absl::ResourceExhaustedError(
        absl::StrCat("one step more: steps_in_flight_max ", room.steps_max, " of this stream are not answered yet"));
  }
  const uint64_t bytes = RequestedBytes(request, step);
  if (bytes <= room.bytes_free) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("the step asks for ", bytes, " bytes: ", room.bytes_free,
                                                   " are free of this stream's bytes_in_flight_max ", room.bytes_max));
}

}  // namespace engram
