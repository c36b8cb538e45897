// `engram load`.

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/load/report_html.h"
#include "client/load/report_json.h"
#include "client/load/run.h"
#include "client/tool/command.h"
#include "client/tool/load_check.h"
#include "client/tool/load_flags.h"
#include "client/tool/load_output.h"
#include "client/tool/report.h"
#include "client/tool/verify_servers.h"
#include "model/files/errors.h"

namespace engram {
namespace {

std::atomic<bool> stop_asked{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");

// The first SIGINT or SIGTERM ends the run with its report; the second one ends the program.
void CatchStopSignals() {
  struct sigaction action {};
  action.sa_handler = [](int) { stop_asked = true; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

// Opened before the run, so that no report is lost for a wrong path.
class OutputFile {
 public:
  absl::Status Open(const std::string& path) {
    path_ = path;
    if (!path.empty()) file_.open(path, std::ios::binary | std::ios::trunc);
    return Check();
  }
  absl::Status Write(const std::string& text) {
    if (path_.empty()) return absl::OkStatus();
    file_ << text;
    file_.close();
    return Check();
  }

 private:
  absl::Status Check() const {
    return file_.good() ? absl::OkStatus() : absl::UnavailableError(absl::StrCat(path_, " cannot be written"));
  }

  std::string path_;
  std::ofstream file_;
};

// On a terminal one line, written anew; else a line each.
void PrintProgress(const RunProgress& progress, bool terminal) {
  const std::string line = ProgressLine(progress);
  absl::FPrintF(stderr, "%s%s%s", terminal ? "\r" : "", line, terminal ? "\x1b[K" : "\n");
  std::fflush(stderr);
}

absl::StatusOr<std::optional<Oracle>> OpenOracle(const LoadFlags& flags, LoadOptions& options) {
  if (options.verify_fraction <= 0) return std::optional<Oracle>();
  ENGRAM_ASSIGN_OR_RETURN(Oracle oracle, Oracle::Open(flags.checkpoint, flags.hash_constants));
  return std::optional<Oracle>(std::move(oracle));
}

// The server must hold what the files hold, or comparing means nothing.
absl::Status SetCheck(const Oracle& oracle, LoadOptions& options) {
  ENGRAM_ASSIGN_OR_RETURN(const std::vector<ServerUnderTest> servers,
                          ReachServers({options.server}, NameOfFormat(options.format), oracle.checkpoint()));
  options.check = MakeAnswerCheck(oracle, options.format, {servers.front().minus_zero_lost(), false});
  return absl::OkStatus();
}

int Print(const LoadReport& report, OutputFile& json, OutputFile& html) {
  absl::PrintF("%s", ReportAsText(report));
  for (const absl::Status& written : {json.Write(ReportAsJson(report)), html.Write(ReportAsHtml(report))}) {
    if (!written.ok()) return Fail("load", written);
  }
  if (report.total.All().ok == 0) return Fail("load", absl::UnavailableError("not one step was served while measured"));
  return ExitCodeOf(report);
}

absl::StatusOr<LoadReport> RunAndRecord(LoadOptions options, const std::string& record) {
  std::unique_ptr<StepRecorder> recorder;
  if (!record.empty()) {
    ENGRAM_ASSIGN_OR_RETURN(recorder, StepRecorder::Create(record));
    options.recorder = recorder.get();
  }
  absl::StatusOr<LoadReport> report = RunLoad(std::move(options));
  if (report.ok() && recorder != nullptr) ENGRAM_RETURN_IF_ERROR(recorder->Close());
  return report;
}

int Run(const LoadFlags& flags) {
  absl::StatusOr<LoadOptions> options = OptionsOf(flags);
  if (!options.ok()) return FailUsage("load", options.status());
  OutputFile json;
  OutputFile html;
  for (const absl::Status& opened : {json.Open(flags.json), html.Open(flags.html)}) {
    if (!opened.ok()) return FailUsage("load", opened);
  }
  const absl::StatusOr<std::optional<Oracle>> oracle = OpenOracle(flags, *options);
  if (!oracle.ok()) return Fail("load", oracle.status());
  if (oracle->has_value()) {
    if (absl::Status status = SetCheck(**oracle, *options); !status.ok()) return Fail("load", status);
  }
  const bool terminal = isatty(STDERR_FILENO) != 0;
  if (!flags.quiet) options->progress = [terminal](const auto& progress) { PrintProgress(progress, terminal); };
  options->stop = &stop_asked;
  CatchStopSignals();
  absl::StatusOr<LoadReport> report = RunAndRecord(*std::move(options), flags.record);
  if (terminal && !flags.quiet) absl::FPrintF(stderr, "\n");
  if (absl::IsInvalidArgument(report.status())) return FailUsage("load", report.status());
  if (!report.ok()) return Fail("load", report.status());
  return Print(*report, json, html);
}

}  // namespace

void AddLoadCommand(CLI::App& app, int& exit_code) {
  auto flags = std::make_shared<LoadFlags>();
  CLI::App* command = app.add_subcommand(
      "load",
      "Load a server and measure it. Exit code 1 on wrong bytes or a failed run, 3 when a bound of --slo is missed.");
  AddLoadFlags(*command, *flags);
  command->callback([flags, &exit_code] { exit_code = Run(*flags); });
}

}  // namespace engram
