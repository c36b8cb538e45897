#include "server/process_load.h"

#include <spdlog/spdlog.h>

#include "absl/strings/str_format.h"

namespace engram {
namespace {

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

int PercentOf(const LoadProgress& progress) {
  if (progress.bytes_total == 0) return 100;
  return static_cast<int>(100.0 * static_cast<double>(progress.bytes_done) / static_cast<double>(progress.bytes_total));
}

}  // namespace

std::string LoadLine(const LoadProgress& progress, double seconds) {
  const double done = static_cast<double>(progress.bytes_done) / kGiB;
  const double total = static_cast<double>(progress.bytes_total) / kGiB;
  std::string line = absl::StrFormat("loading: %.1f of %.1f GiB (%d %%)", done, total, PercentOf(progress));
  if (seconds <= 0 || done <= 0) return line;
  const double rate = done / seconds;
  absl::StrAppendFormat(&line, ", %.1f GiB/s, %.0f s left", rate, (total - done) / rate);
  return line;
}

int LoadLog::Note(const LoadProgress& progress) {
  const Clock::time_point now = Clock::now();
  MutexLock lock(mu_);
  if (now >= next_) {
    next_ = now + std::chrono::seconds(2);
    spdlog::info("{}", LoadLine(progress, std::chrono::duration<double>(now - start_).count()));
  }
  return PercentOf(progress);
}

}  // namespace engram
