// Logging to standard error, each line with the rank.

#ifndef ENGRAM_SERVER_LOGGING_H_
#define ENGRAM_SERVER_LOGGING_H_

#include <string>

namespace engram {

// `level` as in the configuration; a negative `rank` stands for one not known yet. May be called again.
void InitLogging(const std::string& level, int rank);

}  // namespace engram

#endif  // ENGRAM_SERVER_LOGGING_H_
