// What `engram load` prints.

#ifndef ENGRAM_CLIENT_TOOL_LOAD_OUTPUT_H_
#define ENGRAM_CLIENT_TOOL_LOAD_OUTPUT_H_

#include <string>

#include "client/load/options.h"
#include "client/load/report.h"

namespace engram {

inline constexpr int kExitSloMissed = 3;

// The report as a table and a few lines.
std::string ReportAsText(const LoadReport& report);

// One line, without its end.
std::string ProgressLine(const RunProgress& progress);

// What a run with this report ends with: 1 for wrong bytes, or when no step was served; else 3 for a bound of --slo
// that was missed; else 0.
int ExitCodeOf(const LoadReport& report);

}  // namespace engram

#endif  // ENGRAM_CLIENT_TOOL_LOAD_OUTPUT_H_
