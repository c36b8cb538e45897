#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/load/options.h"

namespace engram {
namespace {

const char* NameOf(ProfileKind profile) {
  switch (profile) {
    case ProfileKind::kDecode:
      return "decode";
    case ProfileKind::kPrefill:
      return "prefill";
    case ProfileKind::kMixed:
      return "mixed";
    case ProfileKind::kSpeculative:
      return "speculative";
    case ProfileKind::kReplay:
      return "replay";
  }
  return "unknown";
}

std::string PaceOf(const LoadOptions& options) {
  switch (options.arrival) {
    case ArrivalKind::kClosed:
      return "closed loop";
    case ArrivalKind::kPoisson:
      return absl::StrFormat("open loop, %g steps/s, poisson", options.rate);
    case ArrivalKind::kFixed:
      return absl::StrFormat("open loop, %g steps/s, fixed", options.rate);
    case ArrivalKind::kRecorded:
      return "open loop, recorded times";
  }
  return "unknown";
}

const char* NameOf(v1::RowFormat format) {
  if (format == v1::ROW_FORMAT_HASH_IDS) return "hash_ids";
  return format == v1::ROW_FORMAT_BF16 ? "bf16" : "packed";
}

}  // namespace

std::vector<std::pair<std::string, std::string>> SettingsOf(const LoadOptions& options) {
  std::vector<std::pair<std::string, std::string>> settings;
  const auto add = [&settings](const char* name, const std::string& value) { settings.emplace_back(name, value); };
  add("profile", NameOf(options.profile));
  add("pace", PaceOf(options));
  add("streams", absl::StrCat(options.streams));
  add("in flight a stream", absl::StrCat(options.in_flight.value_or(0)));
  if (options.profile == ProfileKind::kReplay) {
    add("steps of", options.replay_path);
  } else {
    const bool prefill_only = options.profile == ProfileKind::kPrefill;
    add("sessions", absl::StrCat(options.sessions));
    add("tokens a session", absl::StrCat(options.session_tokens));
    if (!prefill_only) add("segments a step", absl::StrCat(options.batch));
    if (prefill_only || options.profile == ProfileKind::kMixed) add("tokens a prefill", absl::StrCat(options.tokens));
    add("tokens", options.texts.empty() ? absl::StrFormat("zipf %g", options.zipf) : options.texts_path);
  }
  add("format", NameOf(options.format));
  add("transport", options.shared_memory ? "shared memory" : "messages");
  if (options.unique_rows) add("unique rows", "sent once a frame");
  add("seed", absl::StrCat(options.seed));
  if (options.verify_fraction > 0) add("verified share", absl::StrFormat("%g", options.verify_fraction));
  if (options.cancel_fraction > 0) add("cancelled share", absl::StrFormat("%g", options.cancel_fraction));
  if (options.reconnect_every != absl::InfiniteDuration()) {
    add("reconnections every", absl::FormatDuration(options.reconnect_every));
  }
  return settings;
}

}  // namespace engram
