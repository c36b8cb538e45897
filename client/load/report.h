// What a run of load found: figures only; report_json.h and report_html.h write them down.

#ifndef ENGRAM_CLIENT_LOAD_REPORT_H_
#define ENGRAM_CLIENT_LOAD_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "client/load/stage_times.h"
#include "client/load/tally.h"
#include "client/load/timeline.h"
#include "engram/v1/engram.pb.h"

namespace engram {

inline constexpr size_t kTimelinePointsMax = 600;

struct CheckedAnswers {
  uint64_t steps = 0;
  uint64_t rows = 0;
  std::string failure;  // the first wrong byte, or why the files could not be read; empty: none
};

// One line of --slo, and what came of it.
struct SloResult {
  std::string name;
  double bound = 0;
  std::optional<double> value;  // none: not one step to take it from
  bool at_least = false;        // the value must be at least the bound; else at most
  bool met() const { return value.has_value() && (at_least ? *value >= bound : *value <= bound); }
};

struct LoadReport {
  std::string server;
  v1::Model model;
  std::vector<std::pair<std::string, std::string>> settings;  // for people: name, value
  std::string ended;        // "duration", "end of the replay", "interrupted" or "wrong bytes"
  absl::Duration warm_up;   // that was left out
  absl::Duration measured;  // from then until no step started any more, or the last one was answered
  bool open_loop = false;
  bool shared_memory = false;             // was asked for
  LoadTally total;                        // of the measured steps
  Timeline timeline{kTimelinePointsMax};  // of the whole run
  uint64_t starts_left = 0;               // intended starts that were due at the end and had not been made
  absl::Duration oldest_left;             // how long the oldest of them had been due
  uint64_t reconnections = 0;             // on purpose
  double client_cores = 0;                // processor time of this program over `measured`
  std::optional<StageTimes> stages;       // of the server, while measured; none: it does not tell
  std::optional<CheckedAnswers> checked;
  std::vector<SloResult> slo;

  double PerSecond(uint64_t count) const {
    return measured > absl::ZeroDuration() ? static_cast<double>(count) / absl::ToDoubleSeconds(measured) : 0;
  }
  bool wrong_bytes() const { return checked.has_value() && !checked->failure.empty(); }
  bool slo_met() const;
};

// The kinds that had steps, each with its name; and "all" where there are several. At least one.
std::vector<std::pair<std::string, KindTally>> KindsOf(const LoadReport& report);

inline constexpr double kPercents[] = {50, 90, 99, 99.9};

}  // namespace engram

#endif  // ENGRAM_CLIENT_LOAD_REPORT_H_
