// `engram synth`.

#include <csignal>
#include <cstdio>
#include <memory>

#include "absl/strings/str_format.h"
#include "client/tool/command.h"
#include "client/tool/number_option.h"
#include "client/tool/synth.h"

namespace engram {
namespace {

constexpr int kNoHoles = 3;
constexpr int kNoRoom = 4;

int ExitCodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return 0;
    case absl::StatusCode::kUnimplemented:
      return kNoHoles;
    case absl::StatusCode::kResourceExhausted:
      return kNoRoom;
    default:
      return 1;
  }
}

int Run(const SynthOptions& options) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond the limits is an error to report
  const absl::StatusOr<SynthReport> report = WriteSynth(options);
  if (!report.ok()) {
    absl::FPrintF(stderr, "engram synth: %s\n", report.status().message());
    return ExitCodeOf(report.status());
  }
  absl::PrintF("%s: %d of %d rows written, %d bytes apparent, %d bytes on disk\n", options.folder, report->rows_written,
               report->rows, report->apparent_bytes, report->disk_bytes);
  return 0;
}

}  // namespace

void AddSynthCommand(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<SynthOptions>();
  CLI::App* command = app.add_subcommand("synth",
                                         "Write a synthetic checkpoint in the released layout. Exit codes: 1 failure, "
                                         "2 command line, 3 no holes, 4 no room.");
  command->add_option("--out", options->folder, "Folder to write; it must be empty or missing")->required();
  command->add_option("--config", options->config_path, "config.json with the geometry, in either form")->required();
  command->add_option("--seed", options->seed, "Of the row content")->check(WholeNumber(0))->capture_default_str();
  command->add_option("--shards-files", options->shard_files, "Number of safetensors files")
      ->check(WholeNumber(1, kSynthShardFilesMax))
      ->capture_default_str();
  command->add_flag("--derive-rows", options->derive_rows, "Replace engram_num_embeddings by the sums of the primes");
  auto* sparse = command->add_flag("--sparse", options->sparse,
                                   "Files of full size with holes: only the rows that --tokens reach");
  sparse->needs(command->add_option("--tokens", options->token_paths,
                                    "Files of token sequences (JSON lines); the folder keeps a copy"));
  command->add_flag("--force", options->force, "Replace the synthetic checkpoint in --out");
  command->callback([options, &exit_code] { exit_code = Run(*options); });
}

}  // namespace engram
