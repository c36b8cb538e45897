// The two ways `engram verify` drives a server.

#ifndef ENGRAM_CLIENT_TOOL_VERIFY_RUN_H_
#define ENGRAM_CLIENT_TOOL_VERIFY_RUN_H_

#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "client/connection.h"
#include "client/tool/comparer.h"
#include "client/tool/oracle.h"
#include "client/tool/token_source.h"
#include "client/tool/traffic.h"

namespace engram {

// A step not answered within this time is an error: the server hangs.
inline constexpr absl::Duration kStepPatience = absl::Seconds(60);

// One stream's way to one server. All three are its own.
struct Lane {
  Connection& connection;
  Traffic& traffic;
  Comparer& comparer;
};

struct RandomRunOptions {
  uint64_t seed = 1;
  uint64_t steps = std::numeric_limits<uint64_t>::max();  // submits so many at most
  absl::Time end = absl::InfiniteFuture();                // and none after
  std::optional<size_t> in_flight;                        // steps under way; none: 1 to 8, changing
  uint64_t bytes_in_flight_max = uint64_t{256} << 20;     // of rows owed by all lanes
  double cancel = 0;                                      // share of steps cancelled soon after they were submitted
  const std::atomic<bool>* stop = nullptr;                // set by another stream that failed
};

// Submits traffic, each step to any of the lanes, several in flight within the limits of every Welcome, and compares
// the answers. Both errors of the run itself (a lost connection, a file that cannot be read) and differences count: a
// caller looks at the returned status and at the comparers.
absl::Status RunRandom(absl::Span<const Lane> lanes, const RandomRunOptions& options);

struct ScriptOptions {
  v1::RowFormat format = v1::ROW_FORMAT_PACKED;
  size_t chunk_tokens = 512;  // of a prefill step
  size_t decode_tokens = 32;  // of each sequence's end, one a step
  bool unique_rows = false;   // StepRequest.unique_rows
};

// What one phase of a script moved. Times count from a step's submission to its answer, comparing left out.
struct PhaseReport {
  std::string name;
  CompareCounts counts;
  absl::Duration elapsed;
};

// Each sequence once, as a model server would: a prefill in chunks, several in flight, then a decode of one token a
// step, each after the answer to the one before. Returns the phases prefill and decode.
absl::StatusOr<std::vector<PhaseReport>> RunPrefillDecode(Connection& connection,
                                                          const std::vector<Sequence>& sequences, size_t lookback_max,
                                                          Comparer& comparer, const ScriptOptions& options);

// One line a phase and one for their sum: tokens, rows, bytes, tokens/s, non-zero rows, mismatches.
std::string PhaseTable(const std::vector<PhaseReport>& phases);

// Waits for a step at most kStepPatience. DEADLINE_EXCEEDED naming it.
absl::StatusOr<StepResult> WaitPatiently(StepHandle& handle);

// "100.00 %" of `counts.table_rows`; "no rows" where only row ids were compared.
std::string NonzeroPercentage(const CompareCounts& counts);

}  // namespace engram

#endif  // ENGRAM_CLIENT_TOOL_VERIFY_RUN_H_
