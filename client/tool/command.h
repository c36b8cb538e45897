// The subcommands of `engram`. Each registers its options on the application and stores its exit code when it ran.

#ifndef ENGRAM_CLIENT_TOOL_COMMAND_H_
#define ENGRAM_CLIENT_TOOL_COMMAND_H_

#include <CLI/CLI.hpp>

namespace engram {

void AddInfoCommand(CLI::App& app, int& exit_code);
void AddLoadCommand(CLI::App& app, int& exit_code);
void AddLookupCommand(CLI::App& app, int& exit_code);
void AddRepeatsCommand(CLI::App& app, int& exit_code);
void AddSynthCommand(CLI::App& app, int& exit_code);
void AddVerifyCommand(CLI::App& app, int& exit_code);

}  // namespace engram

#endif  // ENGRAM_CLIENT_TOOL_COMMAND_H_
