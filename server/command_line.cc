#include "server/command_line.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/config.h"
#include "server/host_port.h"

namespace engram {
namespace {

// A flag that stands for a field of the configuration.
struct FieldFlag {
  const char* flag;
  const char* path;
  const char* value;  // placeholder in the usage text
  const char* help;
};

constexpr FieldFlag kFieldFlags[] = {
    {"--checkpoint", "model.checkpoint", "PATH", "Checkpoint folder, or GGUF file with the tables"},
    {"--hash-constants", "model.hash_constants", "FILE", "GGUF or safetensors with token map, multipliers and primes"},
    {"--listen", "listen.address", "HOST:PORT", "Where to listen; port 0 picks a free one"},
    {"--port-file", "listen.port_file", "FILE", "Gets HOST:PORT once the server is SERVING"},
    {"--pid-file", "listen.pid_file", "FILE", "Gets the front end's process id"},
    {"--shards", "sharding.shards", "N", "In-process shards when no launcher started the program"},
    {"--combine", "sharding.combine", "MODE", "OWNER_GATHER, ALL_REDUCE_PACKED or ALL_REDUCE_BF16"},
    {"--placement", "sharding.placement", "P", "HOST, MAPPED, DEVICE or HOST_PINNED"},
    {"--log-level", "logging.level", "L", "trace, debug, info, warning or error"},
};

// Filled by CLI11 while it parses.
struct RawFlags {
  std::vector<std::string> fields = std::vector<std::string>(std::size(kFieldFlags));
  std::vector<std::string> sets;
};

void Declare(CLI::App& app, CommandLine& command_line, RawFlags& raw) {
  app.set_help_flag();
  app.add_flag("-h,--help", command_line.print_help, "Print this and exit");
  app.add_flag("--version", command_line.print_version, "Print the version and exit");
  app.add_option("--config", command_line.config_file, "Configuration in Protobuf text format")->type_name("FILE");
  app.add_option("--set", raw.sets, "Override one field (repeatable; after all other flags)")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  app.add_flag("--print-config", command_line.print_config, "Print the effective configuration and exit");
  for (size_t i = 0; i < std::size(kFieldFlags); ++i) {
    app.add_option(kFieldFlags[i].flag, raw.fields[i], kFieldFlags[i].help)->type_name(kFieldFlags[i].value);
  }
}

std::vector<std::string> OverridesOf(const CLI::App& app, const RawFlags& raw) {
  std::vector<std::string> overrides;
  for (size_t i = 0; i < std::size(kFieldFlags); ++i) {
    if (app.count(kFieldFlags[i].flag) != 0) overrides.push_back(absl::StrCat(kFieldFlags[i].path, "=", raw.fields[i]));
  }
  overrides.insert(overrides.end(), raw.sets.begin(), raw.sets.end());
  return overrides;
}

// A path, name or number that no field takes is a fault of the command line, found before any file is read.
absl::Status CheckOverrides(const std::vector<std::string>& overrides) {
  v1::ServerConfig scratch;
  for (const std::string& assignment : overrides) {
    if (absl::Status status = SetByPath(scratch, assignment); !status.ok()) return status;
  }
  if (!scratch.listen().has_address()) return absl::OkStatus();
  return ParseHostPort(scratch.listen().address()).status();
}

}  // namespace

absl::StatusOr<CommandLine> ParseCommandLine(int argc, const char* const* argv) {
  CLI::App app("Serves Engram tables: token ids in, n-gram table rows out.", "engram-server");
  CommandLine command_line;
  RawFlags raw;
  Declare(app, command_line, raw);
  command_line.help = app.help();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {  // CLI11 reports by exceptions; they stop here
    return absl::InvalidArgumentError(absl::StrCat(error.what(), " (see --help)"));
  }
  if (command_line.print_help || command_line.print_version) return command_line;
  command_line.overrides = OverridesOf(app, raw);
  if (absl::Status status = CheckOverrides(command_line.overrides); !status.ok()) return status;
  return command_line;
}

absl::StatusOr<v1::ServerConfig> EffectiveConfig(const CommandLine& command_line) {
  v1::ServerConfig config;
  if (!command_line.config_file.empty()) {
    absl::StatusOr<v1::ServerConfig> loaded = LoadConfig(command_line.config_file);
    if (!loaded.ok()) return loaded.status();
    config = *std::move(loaded);
  }
  for (const std::string& assignment : command_line.overrides) {
    if (absl::Status status = SetByPath(config, assignment); !status.ok()) return status;
  }
  FillDefaults(config);
  if (absl::Status status = ValidateConfig(config); !status.ok()) return status;
  if (config.model().checkpoint().empty() && !command_line.print_config) {
    return absl::InvalidArgumentError("model.checkpoint is empty: name a checkpoint with --checkpoint PATH");
  }
  return config;
}

}  // namespace engram
