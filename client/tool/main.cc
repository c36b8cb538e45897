// `engram`: looks at a server or a checkpoint, looks rows up, checks a server, makes synthetic checkpoints.

#include <CLI/CLI.hpp>

#include "client/tool/command.h"
#include "client/tool/report.h"

int main(int argc, char** argv) {
  CLI::App app{"Client of the Engram lookup service"};
  app.require_subcommand(1);
  int exit_code = 0;
  engram::AddInfoCommand(app, exit_code);
  engram::AddLookupCommand(app, exit_code);
  engram::AddSynthCommand(app, exit_code);
  engram::AddVerifyCommand(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : engram::kExitUsage;
  }
  return exit_code;
}
