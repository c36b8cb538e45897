#include "client/load/options.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "client/load/replay_profile.h"
#include "client/step_shape.h"
#include "model/files/errors.h"

namespace engram {
namespace {

constexpr uint64_t kSessionsUsual = 256;
constexpr uint64_t kSessionTokensUsual = 4096;
constexpr uint64_t kPrefillStepsUsual = 8;  // of a session

absl::Status Wrong(absl::string_view option, uint64_t value, absl::string_view what, uint64_t bound) {
  return absl::InvalidArgumentError(absl::StrCat(option, " is ", value, "; it must be ", what, " ", bound));
}

size_t UsualInFlight(const LoadOptions& options, const v1::Limits& limits) {
  constexpr size_t kOpenLoop = 64;
  const size_t server = limits.steps_in_flight_max() == 0 ? kOpenLoop : limits.steps_in_flight_max();
  return options.open_loop() ? std::min(kOpenLoop, server) : 1;
}

uint64_t SegmentsUnderWay(size_t stream, const LoadOptions& options) {
  return *options.in_flight * ExtentOf(KindOfStream(stream, options), options).segments;
}

// Enough sessions for all steps under way, since each has one step at a time.
absl::Status CompleteSessions(LoadOptions& options) {
  uint64_t needed = 1;
  for (size_t stream = 0; stream < options.streams; ++stream) {
    needed = std::max(needed, SegmentsUnderWay(stream, options) * options.streams);
  }
  if (options.sessions == 0) options.sessions = std::max(kSessionsUsual, needed);
  if (options.sessions > kSessionsMax) return Wrong("--sessions", options.sessions, "at most", kSessionsMax);
  if (options.sessions >= needed) return absl::OkStatus();
  return Wrong("--sessions", options.sessions, "at least --streams x --in-flight x segments a step =", needed);
}

absl::Status CompleteSessionTokens(const v1::Limits& limits, LoadOptions& options) {
  uint64_t least = 1;
  for (size_t stream = 0; stream < std::min<size_t>(options.streams, 2); ++stream) {
    least = std::max<uint64_t>(least, ExtentOf(KindOfStream(stream, options), options).tokens);
  }
  const uint64_t most = limits.session_tokens_max() == 0 ? uint64_t{1} << 40 : limits.session_tokens_max();
  if (options.session_tokens == 0) {
    options.session_tokens = std::min(most, std::max(kSessionTokensUsual, kPrefillStepsUsual * least));
  }
  if (options.session_tokens < least) {
    return Wrong("--session-tokens", options.session_tokens, "at least the tokens of a segment,", least);
  }
  if (options.session_tokens <= most) return absl::OkStatus();
  return Wrong("--session-tokens", options.session_tokens, "at most the server's session_tokens_max", most);
}

absl::Status CheckStep(StepKind kind, const v1::Limits& limits, const LoadOptions& options) {
  const StepExtent extent = ExtentOf(kind, options);
  if (limits.segments_max() != 0 && extent.segments > limits.segments_max()) {
    return Wrong("--batch", extent.segments, "at most the server's segments_max", limits.segments_max());
  }
  const uint64_t tokens = uint64_t{extent.segments} * extent.tokens;
  if (limits.step_tokens_max() == 0 || tokens <= limits.step_tokens_max()) return absl::OkStatus();
  return Wrong(kind == StepKind::kPrefill ? "--tokens" : "tokens of a step (--batch segments)", tokens,
               "at most the server's step_tokens_max", limits.step_tokens_max());
}

// Answers that may be in memory at once; the server owes a stream bytes_in_flight_max at most.
absl::Status CheckRowBytes(const v1::Limits& limits, const Geometry& geometry, const LoadOptions& options) {
  const uint64_t token_bytes = uint64_t{geometry.columns()} * RowBytesOf(options.format, geometry) * geometry.layers();
  const uint64_t stream_max = limits.bytes_in_flight_max() == 0 ? kRowBytesMax : limits.bytes_in_flight_max();
  uint64_t bytes = 0;
  for (size_t stream = 0; stream < options.streams; ++stream) {
    const StepExtent extent = ExtentOf(KindOfStream(stream, options), options);
    bytes += std::min(stream_max, *options.in_flight * extent.segments * extent.tokens * token_bytes);
  }
  if (bytes <= kRowBytesMax) return absl::OkStatus();
  return Wrong("bytes of rows under way (--streams, --in-flight, --tokens, --batch)", bytes, "at most", kRowBytesMax);
}

absl::Status CompleteReplay(const Geometry& geometry, LoadOptions& options) {
  ENGRAM_RETURN_IF_ERROR(CheckReplay(options.replay, geometry, options.replay_path));
  options.streams = 0;
  for (const ReplayStep& step : options.replay) options.streams = std::max(options.streams, step.stream + 1);
  return absl::OkStatus();
}

absl::Status CheckUniqueRows(const v1::Model& model, const LoadOptions& options) {
  if (!options.unique_rows) return absl::OkStatus();
  if (options.format == v1::ROW_FORMAT_HASH_IDS) {
    return absl::InvalidArgumentError("--unique-rows: --format hash_ids has no rows");
  }
  const auto& words = model.capabilities();
  if (std::find(words.begin(), words.end(), "unique_rows") != words.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--unique-rows: ", options.server, " always sends all rows"));
}

absl::Status CheckFormat(const v1::Model& model, const LoadOptions& options) {
  if (std::find(model.formats().begin(), model.formats().end(), options.format) != model.formats().end()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--format: ", options.server, " (", model.combine(), ") does not have that row format"));
}

}  // namespace

StepExtent ExtentOf(StepKind kind, const LoadOptions& options) {
  if (kind == StepKind::kPrefill) return {1, options.tokens};
  return {options.batch, kind == StepKind::kSpeculative ? kDraftTokens : 1};
}

StepKind KindOfStream(size_t stream, const LoadOptions& options) {
  if (options.profile == ProfileKind::kPrefill) return StepKind::kPrefill;
  if (options.profile == ProfileKind::kSpeculative) return StepKind::kSpeculative;
  const bool prefill = options.profile == ProfileKind::kMixed && stream % 2 == 1;
  return prefill ? StepKind::kPrefill : StepKind::kDecode;
}

uint64_t SessionsOfStream(size_t stream, const LoadOptions& options) {
  return options.sessions / options.streams + (stream < options.sessions % options.streams ? 1 : 0);
}

// A step that was cancelled here holds its place until the server has answered it.
uint64_t SharedBytesOf(const LoadOptions& options, uint64_t token_bytes) {
  uint64_t tokens = 1;
  for (size_t stream = 0; options.replay.empty() && stream < std::min<size_t>(options.streams, 2); ++stream) {
    const StepExtent extent = ExtentOf(KindOfStream(stream, options), options);
    tokens = std::max<uint64_t>(tokens, extent.segments * extent.tokens);
  }
  for (const ReplayStep& step : options.replay) {
    uint64_t step_tokens = 0;
    for (const LoadSegment& segment : step.segments) step_tokens += segment.tokens.size();
    tokens = std::max(tokens, step_tokens);
  }
  const uint64_t steps = *options.in_flight * (options.cancel_fraction > 0 ? 2 : 1) + 1;
  return steps * tokens * token_bytes;
}

absl::Status CompleteOptions(const v1::Model& model, const Geometry& geometry, LoadOptions& options) {
  const v1::Limits& limits = model.limits();
  ENGRAM_RETURN_IF_ERROR(CheckFormat(model, options));
  ENGRAM_RETURN_IF_ERROR(CheckUniqueRows(model, options));
  if (!options.in_flight.has_value()) options.in_flight = UsualInFlight(options, limits);
  if (options.profile == ProfileKind::kReplay) return CompleteReplay(geometry, options);
  if (options.profile == ProfileKind::kMixed && options.streams < 2) {
    return Wrong("--streams", options.streams, "at least, for --profile mixed,", 2);
  }
  for (size_t stream = 0; stream < std::min<size_t>(options.streams, 2); ++stream) {
    ENGRAM_RETURN_IF_ERROR(CheckStep(KindOfStream(stream, options), limits, options));
  }
  ENGRAM_RETURN_IF_ERROR(CompleteSessions(options));
  ENGRAM_RETURN_IF_ERROR(CompleteSessionTokens(limits, options));
  return CheckRowBytes(limits, geometry, options);
}

}  // namespace engram
