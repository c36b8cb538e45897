// The command line of engram-server, and the configuration that it and the configuration file make together.

#ifndef ENGRAM_SERVER_COMMAND_LINE_H_
#define ENGRAM_SERVER_COMMAND_LINE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engram/v1/config.pb.h"

namespace engram {

struct CommandLine {
  std::string config_file;             // --config; empty: none
  std::vector<std::string> overrides;  // "path=value" in the order to apply: first the flags, then every --set
  bool print_config = false;           // --print-config: print the effective configuration and exit 0
  bool print_version = false;          // --version: print it and exit 0
  bool print_help = false;             // --help: print `help` and exit 0
  std::string help;                    // the usage text, always filled in
};

// INVALID_ARGUMENT (exit code 2) for an unknown flag, a flag without its value, one given twice, a value no field
// takes, HOST:PORT that is none. With --help or --version nothing else is checked.
absl::StatusOr<CommandLine> ParseCommandLine(int argc, const char* const* argv);

// File, then overrides, then defaults; validated. Errors (exit code 78) as LoadConfig and ValidateConfig;
// INVALID_ARGUMENT also when model.checkpoint is empty and --print-config was not given.
absl::StatusOr<v1::ServerConfig> EffectiveConfig(const CommandLine& command_line);

}  // namespace engram

#endif  // ENGRAM_SERVER_COMMAND_LINE_H_
