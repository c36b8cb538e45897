// The report of a run as JSON: docs/load.md has every field.

#ifndef ENGRAM_CLIENT_LOAD_REPORT_JSON_H_
#define ENGRAM_CLIENT_LOAD_REPORT_JSON_H_

#include <string>

#include "client/load/report.h"

namespace engram {

// One object, indented, with a line break at its end.
std::string ReportAsJson(const LoadReport& report);

}  // namespace engram

#endif  // ENGRAM_CLIENT_LOAD_REPORT_JSON_H_
