// From the flags of `engram load` to the options of a run.

#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/tool/load_flags.h"
#include "client/tool/report.h"
#include "client/tool/token_file.h"
#include "model/files/errors.h"

namespace engram {
namespace {

absl::Status Wrong(const std::string& what) { return absl::InvalidArgumentError(what); }

absl::StatusOr<absl::Duration> TimeOf(const std::string& flag, const std::string& text, bool zero) {
  absl::Duration time;
  const bool parsed = absl::ParseDuration(text, &time);
  if (parsed && (time > absl::ZeroDuration() || (zero && time == absl::ZeroDuration()))) return time;
  return Wrong(absl::StrCat(flag, " '", text, "' is no time such as 30s or 5m, ", zero ? "from 0s on" : "above 0s"));
}

absl::StatusOr<ProfileKind> ProfileOf(const LoadFlags& flags) {
  if (!flags.replay.empty()) return ProfileKind::kReplay;
  if (flags.profile == "replay") return Wrong("--profile replay needs --replay FILE");
  if (flags.profile == "prefill") return ProfileKind::kPrefill;
  if (flags.profile == "mixed") return ProfileKind::kMixed;
  return flags.profile == "speculative" ? ProfileKind::kSpeculative : ProfileKind::kDecode;
}

absl::StatusOr<ArrivalKind> ArrivalOf(const LoadFlags& flags) {
  const bool recorded = flags.arrival == "recorded";
  if (recorded && flags.replay.empty()) return Wrong("--arrival recorded needs --replay FILE");
  if (recorded && flags.rate.has_value()) return Wrong("--arrival recorded takes no --rate: the file has the times");
  if (recorded) return ArrivalKind::kRecorded;
  if (!flags.rate.has_value()) {
    if (!flags.arrival.empty()) return Wrong(absl::StrCat("--arrival ", flags.arrival, " needs --rate"));
    return ArrivalKind::kClosed;
  }
  if (!(*flags.rate > 0 && *flags.rate <= kRateMax)) {
    return Wrong(
        absl::StrFormat("--rate is %g; it must be above 0 and at most %.0f steps a second", *flags.rate, kRateMax));
  }
  return flags.arrival == "fixed" ? ArrivalKind::kFixed : ArrivalKind::kPoisson;
}

absl::Status TakeTimes(const LoadFlags& flags, LoadOptions& options) {
  const bool replay = options.profile == ProfileKind::kReplay;
  const std::string duration = !flags.duration.empty() ? flags.duration : replay ? "inf" : "10s";
  ENGRAM_ASSIGN_OR_RETURN(options.duration, TimeOf("--duration", duration, false));
  ENGRAM_ASSIGN_OR_RETURN(options.warm_up, TimeOf("--warm-up", flags.warm_up, true));
  ENGRAM_ASSIGN_OR_RETURN(options.step_timeout, TimeOf("--timeout", flags.timeout, false));
  if (options.warm_up > absl::Hours(24)) return Wrong(absl::StrCat("--warm-up is ", flags.warm_up, "; at most 24h"));
  if (options.step_timeout > absl::Hours(1)) return Wrong(absl::StrCat("--timeout is ", flags.timeout, "; at most 1h"));
  if (flags.reconnect_every.empty()) return absl::OkStatus();
  ENGRAM_ASSIGN_OR_RETURN(options.reconnect_every, TimeOf("--reconnect-every", flags.reconnect_every, false));
  return absl::OkStatus();
}

// The texts' tokens, those under a mask left out.
absl::StatusOr<std::vector<std::vector<uint32_t>>> TextsOf(const std::string& path) {
  ENGRAM_ASSIGN_OR_RETURN(const std::vector<TokenSequence> sequences, ReadSequences(path));
  std::vector<std::vector<uint32_t>> texts;
  for (const TokenSequence& sequence : sequences) {
    std::vector<uint32_t>& text = texts.emplace_back();
    for (size_t i = 0; i < sequence.tokens.size(); ++i) {
      if (sequence.mask.empty() || sequence.mask[i] != 0) text.push_back(sequence.tokens[i]);
    }
  }
  return texts;
}

absl::Status TakeFiles(const LoadFlags& flags, LoadOptions& options) {
  if (options.profile == ProfileKind::kReplay) {
    if (!flags.tokens_from.empty()) return Wrong("--tokens-from: a replay has its own tokens");
    ENGRAM_ASSIGN_OR_RETURN(options.replay, ReadReplay(flags.replay));
    options.replay_path = flags.replay;
  }
  if (flags.tokens_from.empty()) return absl::OkStatus();
  ENGRAM_ASSIGN_OR_RETURN(options.texts, TextsOf(flags.tokens_from));
  options.texts_path = flags.tokens_from;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LoadOptions> OptionsOf(const LoadFlags& flags) {
  LoadOptions options = flags.options;
  ENGRAM_ASSIGN_OR_RETURN(options.profile, ProfileOf(flags));
  ENGRAM_ASSIGN_OR_RETURN(options.arrival, ArrivalOf(flags));
  options.rate = flags.rate.value_or(0);
  if (flags.in_flight.has_value()) options.in_flight = *flags.in_flight;
  ENGRAM_ASSIGN_OR_RETURN(options.format, ParseRowFormat(flags.format));
  ENGRAM_RETURN_IF_ERROR(TakeTimes(flags, options));
  if (!flags.slo.empty()) {
    ENGRAM_ASSIGN_OR_RETURN(options.slo, ParseSlo(flags.slo));
  }
  if (options.verify_fraction > 0 && flags.checkpoint.empty()) {
    return Wrong(absl::StrFormat("--verify-fraction %g needs --checkpoint", options.verify_fraction));
  }
  ENGRAM_RETURN_IF_ERROR(TakeFiles(flags, options));
  return options;
}

}  // namespace engram
