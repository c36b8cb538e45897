// Steps in a file: what --record writes and the profile "replay" sends again. docs/load.md has the format.

#ifndef ENGRAM_CLIENT_LOAD_REPLAY_FILE_H_
#define ENGRAM_CLIENT_LOAD_REPLAY_FILE_H_

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/load/load_step.h"
#include "model/mutex.h"

namespace engram {

inline constexpr size_t kStreamsMax = 1024;  // of a run

struct ReplayStep {
  size_t line = 0;    // of the file, from 1
  absl::Duration at;  // intended start, from the start of the run
  size_t stream = 0;  // below kStreamsMax
  StepKind kind = StepKind::kDecode;
  std::vector<LoadSegment> segments;  // `lookback` only where the segment seeds its session
  std::vector<bool> seeds;            // [segments]: whether it does
  std::vector<uint64_t> closed;       // sessions
};

// One step a line. INVALID_ARGUMENT naming path:line, the key, its value and the bound.
absl::StatusOr<std::vector<ReplayStep>> ParseReplay(const std::string& text, const std::string& path);
// Of a file of at most 1 GiB; and the errors of ReadWholeFile.
absl::StatusOr<std::vector<ReplayStep>> ReadReplay(const std::string& path);

// The line, with its end, that ParseReplay makes this step of again.
std::string ReplayLine(size_t stream, const LoadStep& step, absl::Duration at);

// Writes the steps of a run. Thread-safe.
class StepRecorder {
 public:
  // UNAVAILABLE naming the path, when it cannot be written; Close too.
  static absl::StatusOr<std::unique_ptr<StepRecorder>> Create(const std::string& path);

  void Write(size_t stream, const LoadStep& step, absl::Duration at) ABSL_LOCKS_EXCLUDED(mu_);
  // Once, after all writes.
  absl::Status Close() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  explicit StepRecorder(const std::string& path) : path_(path), file_(path, std::ios::binary | std::ios::trunc) {}

  const std::string path_;
  Mutex mu_;
  std::ofstream file_ ABSL_GUARDED_BY(mu_);
};

}  // namespace engram

#endif  // ENGRAM_CLIENT_LOAD_REPLAY_FILE_H_
