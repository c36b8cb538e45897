// What became of steps, counted.

#ifndef ENGRAM_CLIENT_LOAD_TALLY_H_
#define ENGRAM_CLIENT_LOAD_TALLY_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/load/arrivals.h"
#include "client/load/histogram.h"
#include "client/load/load_step.h"

namespace engram {

// One step from its intended start to its answer.
struct StepOutcome {
  enum class End {
    kAnswered,     // by the server or the client: `status` and `refused` say how
    kCancelled,    // on purpose
    kInterrupted,  // by a reconnection on purpose, or by the end of the run
  };

  StepKind kind = StepKind::kDecode;
  End end = End::kAnswered;
  LoadTime intended;  // in a closed loop: when it was handed to the client
  LoadTime sent;      // when it was handed to the client
  LoadTime finished;
  bool timed = true;  // `finished` is exact; else the step counts without a latency
  absl::Status status;
  std::vector<absl::Status> refused;  // segments, of a step that is OK
  // Of the segments that were served.
  uint64_t tokens = 0;
  uint64_t rows = 0;
  uint64_t bytes = 0;
  bool shared = false;  // they came through shared memory

  bool ok() const { return end == End::kAnswered && status.ok() && refused.empty(); }
};

// The steps of one kind.
struct KindTally {
  uint64_t ok = 0;           // all segments served
  uint64_t failed = 0;       // with an error of its own, or of a segment
  uint64_t cancelled = 0;    // on purpose
  uint64_t interrupted = 0;  // likewise, by reconnection or the end
  uint64_t tokens = 0;
  uint64_t rows = 0;
  uint64_t bytes = 0;
  uint64_t shared = 0;       // steps whose rows came through shared memory
  LatencyHistogram latency;  // of those that are ok, from the intended start

  uint64_t steps() const { return ok + failed + cancelled + interrupted; }
  void Add(const StepOutcome& outcome);
  void Merge(const KindTally& other);
};

using ErrorCounts = std::map<absl::StatusCode, uint64_t>;

// Copyable; not thread-safe.
struct LoadTally {
  std::array<KindTally, kStepKinds> kinds;  // by StepKind
  LatencyHistogram start_delay;             // of all steps: from the intended start until the client had the step
  ErrorCounts step_errors;
  ErrorCounts segment_errors;
  std::string first_error;      // in words; empty without one
  uint64_t starts_dropped = 0;  // intended, never made: the queue was full
  LoadTime last_finished;       // of all answers

  void Add(const StepOutcome& outcome);
  void Merge(const LoadTally& other);

  const KindTally& of(StepKind kind) const { return kinds[static_cast<size_t>(kind)]; }
  KindTally All() const;
  // Failed steps and dropped starts, as a share of these and of the steps that were answered; 0 without any.
  double ErrorRate() const;

 private:
  void NoteError(ErrorCounts& counts, const absl::Status& status, const char* what);
};

}  // namespace engram

#endif  // ENGRAM_CLIENT_LOAD_TALLY_H_
