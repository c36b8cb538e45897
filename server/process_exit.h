// Exit codes of engram-server: what a supervisor may conclude from them.

#ifndef ENGRAM_SERVER_PROCESS_EXIT_H_
#define ENGRAM_SERVER_PROCESS_EXIT_H_

#include "absl/status/status.h"

namespace engram {

inline constexpr int kExitClean = 0;
inline constexpr int kExitInternal = 1;
inline constexpr int kExitCommandLine = 2;
inline constexpr int kExitRankLost = 75;       // EX_TEMPFAIL: a rank died or fell silent; start again
inline constexpr int kExitConfiguration = 78;  // EX_CONFIG: configuration or checkpoint is wrong; do not start again

// For a status that ends the process.
int ExitCodeOf(const absl::Status& status);

}  // namespace engram

#endif  // ENGRAM_SERVER_PROCESS_EXIT_H_
