#include "shard/load_meter.h"

#include "absl/strings/str_cat.h"

namespace engram {

absl::Status LoadMeter::Add(uint64_t bytes) {
  MutexLock lock(mu_);
  progress_.bytes_done += bytes;
  if (report_) report_(progress_);
  if (!HasPassed(deadline_)) return absl::OkStatus();
  return absl::DeadlineExceededError(absl::StrCat("load_timeout is over with ", progress_.bytes_done, " of ",
                                                  progress_.bytes_total, " bytes of the shard loaded"));
}

void LoadMeter::NoteOnce(const std::string& line) {
  MutexLock lock(mu_);
  if (note_ && !has_noted_) note_(line);
  has_noted_ = true;
}

}  // namespace engram
