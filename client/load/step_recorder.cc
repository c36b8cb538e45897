// The writing side of replay files.

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/load/replay_file.h"

namespace engram {

std::string ReplayLine(size_t stream, const LoadStep& step, absl::Duration at) {
  std::string line = absl::StrFormat(R"({"at_ms": %.3f, "stream": %d, "kind": "%s", "segments": [)",
                                     absl::ToDoubleMilliseconds(at), stream, NameOf(step.kind));
  for (const LoadSegment& segment : step.segments) {
    if (&segment != &step.segments.front()) line += ", ";
    absl::StrAppend(&line, "{\"session\": ", segment.session_id, ", \"start\": ", segment.start_pos, ", \"tokens\": [",
                    absl::StrJoin(segment.tokens, ","), "]}");
  }
  line += "]";
  if (step.step.request.close_sessions_size() > 0) {
    absl::StrAppend(&line, ", \"close\": [", absl::StrJoin(step.step.request.close_sessions(), ","), "]");
  }
  return line + "}\n";
}

absl::StatusOr<std::unique_ptr<StepRecorder>> StepRecorder::Create(const std::string& path) {
  std::unique_ptr<StepRecorder> recorder(new StepRecorder(path));
  MutexLock lock(recorder->mu_);
  if (!recorder->file_.good()) return absl::UnavailableError(absl::StrCat(path, " cannot be written"));
  return recorder;
}

void StepRecorder::Write(size_t stream, const LoadStep& step, absl::Duration at) {
  const std::string line = ReplayLine(stream, step, at);
  MutexLock lock(mu_);
  file_ << line;
}

absl::Status StepRecorder::Close() {
  MutexLock lock(mu_);
  file_.close();
  if (file_.good()) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(path_, " could not be written to its end"));
}

}  // namespace engram
