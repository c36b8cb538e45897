// Parts of the command line of `engram verify`.

#ifndef ENGRAM_CLIENT_TOOL_VERIFY_FLAGS_H_
#define ENGRAM_CLIENT_TOOL_VERIFY_FLAGS_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "client/tool/verify_streams.h"

namespace engram {

// What they fill must outlive the parsing.
void AddTrafficFlags(CLI::App& command, StreamsOptions& options);
void AddServerFlags(CLI::App& command, std::vector<std::string>& servers);

}  // namespace engram

#endif  // ENGRAM_CLIENT_TOOL_VERIFY_FLAGS_H_
