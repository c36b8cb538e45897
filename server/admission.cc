#include "server/admission.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "model/digest.h"

namespace engram {
namespace {

constexpr size_t kDigestBytes = 32;
constexpr size_t kModelNameBytesMax = 256;  // of a server's model.name

std::string PathOf(size_t segment) { return absl::StrCat("segments[", segment, "]"); }

}  // namespace

Admission::Admission(const Geometry& geometry, const HashConstants& constants, const v1::Model& model,
                     SessionStore& sessions)
    : geometry_(geometry),
      model_(model),
      sessions_(sessions),
      step_check_(geometry, model),
      segment_check_(geometry, constants, model.constants_digest()) {}

absl::StatusOr<Step> Admission::Admit(const StepOrigin& origin, const v1::StepRequest& request, const StepRoom& room,
                                      absl::Time arrival) const {
  if (absl::Status status = step_check_.Counts(request, room); !status.ok()) return status;
  absl::StatusOr<std::vector<size_t>> layers = step_check_.Layers(request);
  if (!layers.ok()) return layers.status();
  if (absl::Status status = step_check_.Served(request); !status.ok()) return status;

  Step step;
  step.step_id = request.step_id();
  step.format = request.format();
  step.omit_masked_rows = request.omit_masked_rows();
  step.placed = request.has_place();
  step.unique_rows = request.unique_rows() && !step.placed;  // nothing is sent
  step.layer_indices = *std::move(layers);
  if (request.timeout_ms() != 0) step.deadline = arrival + absl::Milliseconds(request.timeout_ms());
  if (absl::Status status = step_check_.Place(request, room, step); !status.ok()) return status;
  if (absl::Status status = step_check_.Room(request, room, step); !status.ok()) return status;

  ApplySegments(origin, request, step);
  step.close_status = CloseSessions(origin, request);
  return step;
}

void Admission::ApplySegments(const StepOrigin& origin, const v1::StepRequest& request, Step& step) const {
  absl::flat_hash_set<uint64_t> seen;
  uint64_t token_begin = 0;
  uint64_t answered = 0;
  for (int i = 0; i < request.segments_size(); ++i) {
    const v1::Segment& segment = request.segments(i);
    const auto index = static_cast<size_t>(i);
    absl::StatusOr<v1::SegmentResult> result;
    if (segment.session_id() != 0 && !seen.insert(segment.session_id()).second) {
      result = absl::InvalidArgumentError(
          absl::StrCat(PathOf(index), ".session_id = ", segment.session_id(), ": a session may be in a step once"));
    } else {
      result = Apply(origin, request, index, token_begin, step);
    }
    if (result.ok()) {
      answered += AnsweredTokens(segment, step.omit_masked_rows);
    } else {
      v1::SegmentResult refused;
      refused.set_code(static_cast<int32_t>(result.status().code()));
      refused.set_message(std::string(result.status().message()));
      result = std::move(refused);
    }
    result->set_session_id(segment.session_id());
    step.results.push_back(*std::move(result));
    token_begin += static_cast<uint64_t>(segment.token_ids_size());
  }
  step.reply_bytes = step_check_.OwedBytes(step, answered);
}

absl::StatusOr<v1::SegmentResult> Admission::Apply(const StepOrigin& origin, const v1::StepRequest& request,
                                                   size_t index, uint64_t token_begin, Step& step) const {
  const v1::Segment& segment = request.segments(static_cast<int>(index));
  const std::string path = PathOf(index);
  const auto tokens = static_cast<size_t>(segment.token_ids_size());
  const uint64_t lookback = std::min<uint64_t>(segment.start_pos(), geometry_.max_ngram_size - 1);
  StepSegment accepted{.token_begin = token_begin,
                       .window = std::vector<int32_t>(static_cast<size_t>(lookback) + tokens),
                       .lookback = static_cast<uint32_t>(lookback)};
  const absl::Span<int32_t> ids = absl::MakeSpan(accepted.window).subspan(accepted.lookback);
  if (absl::Status status = segment_check_.Tokens(path, segment, ids); !status.ok()) return status;
  absl::StatusOr<SessionSeed> seed = segment_check_.Seed(path, segment, origin.client);
  if (!seed.ok()) return seed.status();

  absl::StatusOr<SessionWritten> written = sessions_.Write({.key = {origin.client, segment.session_id()},
                                                            .start_pos = segment.start_pos(),
                                                            .seed = *std::move(seed),
                                                            .ids = ids,
                                                            .stream_id = origin.stream_id});
  if (!written.ok()) {
    return absl::Status(written.status().code(), absl::StrCat(path, ": ", written.status().message()));
  }
  std::copy(written->lookback.begin(), written->lookback.end(), accepted.window.begin());
  if (tokens != 0) step.segments.push_back(std::move(accepted));
  step.tokens += tokens;
  if (segment.session_id() != 0) step.sessions.push_back(std::move(written->use));

  v1::SegmentResult result;
  result.set_length(written->length);
  if (request.return_states()) {
    v1::HashState& state = *result.mutable_state();
    state.set_position(written->length);
    state.mutable_compressed_ids()->Assign(written->tail.begin(), written->tail.end());
    state.set_constants_digest(model_.constants_digest());
  }
  return result;
}

absl::Status Admission::CloseSessions(const StepOrigin& origin, const v1::StepRequest& request) const {
  absl::Status first;
  for (int i = 0; i < request.close_sessions_size(); ++i) {
    const absl::Status status = sessions_.Close({origin.client, request.close_sessions(i)}, origin.stream_id);
    if (status.ok() || !first.ok()) continue;
    first = absl::Status(status.code(), absl::StrCat("close_sessions[", i, "]: ", status.message()));
  }
  return first;
}

absl::Status Admission::CheckHello(const v1::Hello& hello) const {
  if (absl::Status status = CheckClientId("hello.client_id", hello.client_id()); !status.ok()) return status;
  const std::string& digest = hello.model_digest();
  if (!digest.empty() && digest.size() != kDigestBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("hello.model_digest: ", digest.size(), " bytes: must be empty or have ", kDigestBytes));
  }
  if (!digest.empty() && digest != model_.model_digest()) {
    return absl::FailedPreconditionError(
        absl::StrCat("hello.model_digest = ", HexOf(digest), ": this server's is ", HexOf(model_.model_digest())));
  }
  const std::string& name = hello.model_name();
  if (!name.empty() && name != model_.name()) {
    // A long name is shown as its length: what ends a stream travels in HTTP/2 headers.
    const std::string given = name.size() > kModelNameBytesMax ? absl::StrCat(": ", name.size(), " bytes")
                                                               : absl::StrCat(" = \"", absl::CEscape(name), "\"");
    return absl::FailedPreconditionError(
        absl::StrCat("hello.model_name", given, ": this server's is \"", absl::CEscape(model_.name()), "\""));
  }
  return absl::OkStatus();
}

}  // namespace engram
