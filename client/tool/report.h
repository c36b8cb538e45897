// How the subcommands say what went wrong, and read what several of them take.

#ifndef ENGRAM_CLIENT_TOOL_REPORT_H_
#define ENGRAM_CLIENT_TOOL_REPORT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engram/v1/engram.pb.h"

namespace engram {

inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;

// Prints "engram COMMAND: message" to the standard error stream; returns kExitFailure.
int Fail(const std::string& command, const absl::Status& status);
// The same for what is wrong on the command line; returns kExitUsage.
int FailUsage(const std::string& command, const absl::Status& status);

// "packed", "bf16", "hash_ids". INVALID_ARGUMENT naming `text` otherwise.
absl::StatusOr<v1::RowFormat> ParseRowFormat(const std::string& text);
std::string NameOfFormat(int format);

// A comma-separated list of them, each once.
absl::StatusOr<std::vector<v1::RowFormat>> ParseRowFormats(const std::string& text);

}  // namespace engram

#endif  // ENGRAM_CLIENT_TOOL_REPORT_H_
