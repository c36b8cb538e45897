// A run of load against a server, from connecting to the report.

#ifndef ENGRAM_CLIENT_LOAD_RUN_H_
#define ENGRAM_CLIENT_LOAD_RUN_H_

#include "absl/status/statusor.h"
#include "client/load/options.h"
#include "client/load/report.h"

namespace engram {

// Connects all streams, then runs them until the duration has passed, the replay has ended, options.stop is set, or an
// answer was found wrong, and waits for what is under way: for as long as a step may take, after options.stop 2 s.
// Memory: the rows of steps under way (kRowBytesMax) and of answers that wait to be checked, sessions, the texts or the
// replay, and a report of constant size.
//
// Errors, when no run came about: INVALID_ARGUMENT naming option, value and bound; what FetchModel and
// Client::AwaitModel give. Lost servers and refusals during the run are counted in the report.
absl::StatusOr<LoadReport> RunLoad(LoadOptions options);

}  // namespace engram

#endif  // ENGRAM_CLIENT_LOAD_RUN_H_
