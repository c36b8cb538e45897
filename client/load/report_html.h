// The report of a run as one HTML page that needs nothing else: charts are inline SVG, figures are in tables too, and
// it follows the reader's choice of light or dark.

#ifndef ENGRAM_CLIENT_LOAD_REPORT_HTML_H_
#define ENGRAM_CLIENT_LOAD_REPORT_HTML_H_

#include <string>

#include "client/load/report.h"

namespace engram {

std::string ReportAsHtml(const LoadReport& report);

}  // namespace engram

#endif  // ENGRAM_CLIENT_LOAD_REPORT_HTML_H_
