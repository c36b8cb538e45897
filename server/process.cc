#include "server/process.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "model/files/checkpoint.h"
#include "server/command_line.h"
#include "server/config.h"
#include "server/describe_model.h"
#include "server/front_end.h"
#include "server/logging.h"
#include "server/process_exit.h"
#include "server/process_load.h"
#include "server/process_signals.h"
#include "shard/engine.h"

namespace engram {
namespace {

int Complain(const absl::Status& status, int exit_code) {
  std::fprintf(stderr, "engram-server: %s\n", std::string(status.message()).c_str());
  return exit_code;
}

std::string HostName() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "an unnamed host";
}

// Without `progress`.
EngineOptions RankOptions(const v1::ServerConfig& config, const Checkpoint& checkpoint) {
  EngineOptions options = EngineOptionsOf(config, checkpoint.geometry);
  options.gpu = BuiltInGpu();
  options.note = [](const std::string& line) { spdlog::info("{}", line); };
  return options;
}

absl::Status ServeRows(Job& job, const Checkpoint& checkpoint, EngineOptions options) {
  IgnoreStopSignals();
  LoadLog log;
  options.progress = [&log](const LoadProgress& progress) { log.Note(progress); };
  return job.Serve(checkpoint, options);
}

absl::Status RunRank(Job& job, const v1::ServerConfig& config) {
  const absl::StatusOr<Checkpoint> checkpoint =
      OpenCheckpoint(config.model().checkpoint(), config.model().hash_constants());
  if (!checkpoint.ok()) return checkpoint.status();
  const auto ranks = static_cast<size_t>(job.ranks());
  if (absl::Status status = ValidateForModel(config, checkpoint->geometry, ranks); !status.ok()) return status;
  EngineOptions options = RankOptions(config, *checkpoint);
  if (!job.is_front()) return ServeRows(job, *checkpoint, std::move(options));
  return FrontEnd(job, config, *checkpoint, std::move(options)).Run();
}

int RunServer(const v1::ServerConfig& config) {
  BlockStopSignals();
  InitLogging(config.logging().level(), -1);
  absl::StatusOr<std::unique_ptr<Job>> job = Job::Join(static_cast<int>(config.sharding().shards()));
  if (!job.ok()) {
    spdlog::error("{}", job.status().ToString());
    return ExitCodeOf(job.status());
  }
  InitLogging(config.logging().level(), (*job)->rank());
  spdlog::info("engram-server {}, rank {} of {} on {}, process {}", std::string(ServerVersion()), (*job)->rank(),
               (*job)->ranks(), HostName(), getpid());
  const absl::Status status = RunRank(**job, config);
  if (status.ok()) return kExitClean;
  spdlog::error("{}", status.ToString());
  // The other ranks may be waiting for this one: all end together.
  (*job)->Abort(ExitCodeOf(status));
  return kExitInternal;  // not reached, which gcc does not see through a virtual function
}

}  // namespace

int RunServerProgram(int argc, char** argv) {
  const absl::StatusOr<CommandLine> command_line = ParseCommandLine(argc, argv);
  if (!command_line.ok()) return Complain(command_line.status(), kExitCommandLine);
  if (command_line->print_help) {
    std::fputs(command_line->help.c_str(), stdout);
    return kExitClean;
  }
  if (command_line->print_version) {
    std::printf("engram-server %s\n", std::string(ServerVersion()).c_str());
    return kExitClean;
  }
  const absl::StatusOr<v1::ServerConfig> config = EffectiveConfig(*command_line);
  if (!config.ok()) return Complain(config.status(), kExitConfiguration);
  if (command_line->print_config) {
    std::fputs(PrintConfig(*config).c_str(), stdout);
    return kExitClean;
  }
  return RunServer(*config);
}

}  // namespace engram
