#include "client/step_limits.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "model/request_bound.h"

namespace engram {
namespace {

// Around the request on the wire: the message that holds it, its step_id and timeout_ms.
constexpr uint64_t kWrappingBytes = 64;

absl::Status CheckCount(const char* field, int count, uint32_t max) {
  if (max == 0 || static_cast<uint32_t>(count) <= max) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(field, ": ", count, " of them: the server's segments_max is ", max));
}

}  // namespace

absl::Status CheckUtf8(absl::string_view field, const std::string& text) {
  v1::ForkFrom message;  // any message with a string
  message.set_client_id(text);
  if (v1::ForkFrom().ParseFromString(message.SerializeAsString())) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(field, ": ", text.size(), " bytes: must be UTF-8"));
}

absl::Status CheckStrings(const v1::StepRequest& request) {
  for (int i = 0; i < request.segments_size(); ++i) {
    const std::string& client_id = request.segments(i).fork_from().client_id();
    if (client_id.empty()) continue;
    absl::Status status = CheckUtf8(absl::StrCat("segments[", i, "].fork_from.client_id"), client_id);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

StepSize SizeOf(const v1::StepRequest& request, uint64_t lookback_free, uint64_t bytes) {
  StepSize size{0, 0, bytes};
  for (const v1::Segment& segment : request.segments()) {
    const auto given = static_cast<uint64_t>(segment.lookback().token_ids_size());
    size.tokens += static_cast<uint64_t>(segment.token_ids_size());
    size.lookback += given - std::min(given, lookback_free);
  }
  return size;
}

absl::Status CheckLimits(const v1::StepRequest& request, const StepSize& size, const v1::Limits& limits) {
  const uint32_t segments_max = limits.segments_max();
  if (absl::Status status = CheckCount("segments", request.segments_size(), segments_max); !status.ok()) return status;
  absl::Status status = CheckCount("close_sessions", request.close_sessions_size(), segments_max);
  if (!status.ok()) return status;
  const uint64_t tokens_max = limits.step_tokens_max();
  if (tokens_max != 0 && size.tokens + size.lookback > tokens_max) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the step has ", size.tokens + size.lookback, " tokens, ", size.lookback,
                     " of them long look-back: the server's step_tokens_max is ", tokens_max));
  }
  const uint64_t bytes_max = RequestBytesMax(tokens_max, segments_max);
  if (tokens_max != 0 && segments_max != 0 && size.bytes + kWrappingBytes > bytes_max) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the step's request has ", size.bytes, " bytes: the server reads at most ", bytes_max));
  }
  return absl::OkStatus();
}

}  // namespace engram
