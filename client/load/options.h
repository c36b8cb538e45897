// What a run of load is asked to do.

#ifndef ENGRAM_CLIENT_LOAD_OPTIONS_H_
#define ENGRAM_CLIENT_LOAD_OPTIONS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/load/answer_checks.h"
#include "client/load/replay_file.h"
#include "client/load/slo.h"
#include "client/load/tally.h"
#include "engram/v1/engram.pb.h"
#include "model/geometry.h"

namespace engram {

enum class ProfileKind { kDecode, kPrefill, kMixed, kSpeculative, kReplay };

enum class ArrivalKind {
  kClosed,    // each stream keeps `in_flight` steps under way
  kPoisson,   // at `rate`, whatever the server does
  kFixed,     // likewise, evenly spaced
  kRecorded,  // a replay at its recorded times
};

inline constexpr size_t kDraftTokens = 6;  // of a speculative block
inline constexpr uint64_t kSessionsMax = uint64_t{1} << 22;
inline constexpr size_t kStepsInFlightMax = 1024;            // of a stream
inline constexpr uint64_t kDueMax = uint64_t{1} << 24;       // intended starts that wait
inline constexpr double kRateMax = 1e6;                      // steps a second
inline constexpr uint64_t kRowBytesMax = uint64_t{4} << 30;  // under way, all streams together

// What a line of progress shows: the last second, the warm-up included.
struct RunProgress {
  absl::Duration elapsed;  // of the run
  bool warm_up = false;
  LoadTally second;
  absl::Duration length;   // of that "second"
  uint64_t in_flight = 0;  // steps
  uint64_t due = 0;        // intended starts not made yet
};

struct LoadOptions {
  std::string server;  // HOST:PORT
  ProfileKind profile = ProfileKind::kDecode;
  size_t streams = 1;               // connections; mixed: half of them prefill, rounded down; replay: the file's
  uint64_t sessions = 0;            // of all streams; 0: 256, or as many as can be under way
  std::optional<size_t> in_flight;  // steps under way on each stream; none: 1, in an open loop 64
  size_t batch = 1;                 // segments of a decode or speculative step, each of another session
  size_t tokens = 512;              // of a prefill step
  uint64_t session_tokens = 0;      // a session begins anew after at most so many; 0: 4096, or 8 prefill steps
  v1::RowFormat format = v1::ROW_FORMAT_PACKED;
  bool shared_memory = false;               // rows come there; a server that has none is an error
  std::string segment_prefix = "/engram-";  // as the server's shared_memory.name_prefix
  bool unique_rows = false;                 // StepRequest.unique_rows, where the server knows it

  ArrivalKind arrival = ArrivalKind::kClosed;
  double rate = 0;           // steps a second, all streams together
  uint64_t due_max = 65536;  // intended starts that wait, all streams together; those beyond are dropped

  absl::Duration duration = absl::Seconds(10);  // that is measured
  absl::Duration warm_up = absl::Seconds(1);    // before, not measured
  absl::Duration step_timeout = absl::Seconds(30);
  uint64_t seed = 1;

  double zipf = 1;                           // exponent; 0: all token ids alike
  std::vector<std::vector<uint32_t>> texts;  // token ids to use in place of it
  std::string texts_path;                    // for the report
  std::vector<ReplayStep> replay;            // of the profile replay
  std::string replay_path;                   // for messages and the report
  StepRecorder* recorder = nullptr;          // of all steps

  AnswerCheck check;  // none: nothing is compared
  double verify_fraction = 0;
  double cancel_fraction = 0;                                 // of steps, cancelled at a random moment
  absl::Duration reconnect_every = absl::InfiniteDuration();  // a stream breaks off so often, on average
  std::vector<SloBound> slo;

  const std::atomic<bool>* stop = nullptr;           // ends the run early, with its report
  std::function<void(const RunProgress&)> progress;  // once a second
  absl::Duration progress_every = absl::Seconds(1);

  bool open_loop() const { return arrival != ArrivalKind::kClosed; }
};

// Fills in what was left open and checks it, first by itself, then against what the server is.
// INVALID_ARGUMENT naming the option, its value and the bound.
absl::Status CompleteOptions(const v1::Model& model, const Geometry& geometry, LoadOptions& options);

// Name and value of what shapes the load, for people. Completed options.
std::vector<std::pair<std::string, std::string>> SettingsOf(const LoadOptions& options);

// Of the shared memory that each stream's rows need, with a token's rows of `token_bytes`.
uint64_t SharedBytesOf(const LoadOptions& options, uint64_t token_bytes);

// Of the steps that a stream of this run may have: segments and tokens of a segment.
struct StepExtent {
  size_t segments = 1;
  size_t tokens = 1;
};
StepExtent ExtentOf(StepKind kind, const LoadOptions& options);
// What a stream sends. Not for replays.
StepKind KindOfStream(size_t stream, const LoadOptions& options);
// Sessions of one stream, of the total.
uint64_t SessionsOfStream(size_t stream, const LoadOptions& options);

}  // namespace engram

#endif  // ENGRAM_CLIENT_LOAD_OPTIONS_H_
