// `engram`: looks at a server or a checkpoint, looks rows up, checks and loads a server, counts what texts ask for
// again, makes synthetic checkpoints.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "client/tool/command.h"
#include "client/tool/report.h"

namespace engram {
namespace {

// CLI11 would only say that a subcommand is required.
bool IsUnknownSubcommand(const CLI::App& app, const std::string& word) {
  const auto named = [&word](const CLI::App* command) { return command->get_name() == word; };
  return word.substr(0, 1) != "-" && app.get_subcommands(named).empty();
}

int RunTool(int argc, char** argv) {
  CLI::App app{"Client of the Engram lookup service"};
  app.require_subcommand(1);
  app.set_version_flag("--version", "engram " ENGRAM_VERSION);
  int exit_code = 0;
  AddInfoCommand(app, exit_code);
  AddLoadCommand(app, exit_code);
  AddLookupCommand(app, exit_code);
  AddRepeatsCommand(app, exit_code);
  AddSynthCommand(app, exit_code);
  AddVerifyCommand(app, exit_code);
  if (argc > 1 && IsUnknownSubcommand(app, argv[1])) {
    std::fprintf(stderr, "engram: '%s' is no subcommand (engram --help lists them)\n", argv[1]);
    return kExitUsage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kExitUsage;
  }
  return exit_code;
}

}  // namespace
}  // namespace engram

int main(int argc, char** argv) {
  const int exit_code = engram::RunTool(argc, argv);
  // What is printed may wait in a buffer until now: a full disk must not look like success.
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit_code;
  std::fprintf(stderr, "engram: the standard output cannot be written\n");
  return exit_code == 0 ? engram::kExitFailure : exit_code;
}
