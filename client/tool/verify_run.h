// The two ways `engram verify` drives a server.

#ifndef ENGRAM_CLIENT_TOOL_VERIFY_RUN_H_
#define ENGRAM_CLIENT_TOOL_VERIFY_RUN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/client.h"
#include "client/tool/comparer.h"
#include "client/tool/oracle.h"
#include "client/tool/token_source.h"
#include "client/tool/traffic.h"

namespace engram {

// A step not answered within this time is an error: the server hangs.
inline constexpr absl::Duration kStepPatience = absl::Seconds(60);

// Both errors of the run itself (a lost connection, a file that cannot be read) and differences count: a caller looks
// at the returned status and at the comparer.
//
// Submits traffic, several steps in flight, until `duration` has passed or `steps` steps were submitted (0: no such
// bound).
absl::Status RunRandom(Client& client, Traffic& traffic, Comparer& comparer, absl::Duration duration, uint64_t steps,
                       uint64_t seed);

struct ScriptOptions {
  v1::RowFormat format = v1::ROW_FORMAT_PACKED;
  size_t chunk_tokens = 512;  // of a prefill step
  size_t decode_tokens = 32;  // of each sequence's end, one a step
};

// What one phase of a script moved. Times count from a step's submission to its answer, comparing left out.
struct PhaseReport {
  std::string name;
  CompareCounts counts;
  absl::Duration elapsed;
};

// Each sequence once, as a model server would: a prefill in chunks, several in flight, then a decode of one token a
// step, each after the answer to the one before. Returns the phases prefill and decode.
absl::StatusOr<std::vector<PhaseReport>> RunPrefillDecode(Client& client, const std::vector<Sequence>& sequences,
                                                          size_t lookback_max, Comparer& comparer,
                                                          const ScriptOptions& options);

// One line a phase and one for their sum: tokens, rows, bytes, tokens/s, non-zero rows, mismatches.
std::string PhaseTable(const std::vector<PhaseReport>& phases);

// Waits for a step at most kStepPatience. DEADLINE_EXCEEDED.
absl::StatusOr<StepResult> WaitPatiently(StepHandle& handle);

// "100.00 %" of `counts.table_rows`; "no rows" where only row ids were compared.
std::string NonzeroPercentage(const CompareCounts& counts);

}  // namespace engram

#endif  // ENGRAM_CLIENT_TOOL_VERIFY_RUN_H_
