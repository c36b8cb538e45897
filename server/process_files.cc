#include "server/process_files.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"

namespace engram {

AnnouncementFile::AnnouncementFile(std::string path) : path_(std::move(path)) {
  if (!path_.empty()) unlink(path_.c_str());
}

AnnouncementFile::~AnnouncementFile() {
  if (!path_.empty()) unlink(path_.c_str());
}

absl::Status AnnouncementFile::Write(const std::string& text) {
  if (path_.empty()) return absl::OkStatus();
  const std::string beside = absl::StrCat(path_, ".", getpid());
  std::ofstream file(beside, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (file.good() && std::rename(beside.c_str(), path_.c_str()) == 0) return absl::OkStatus();
  const std::string reason = std::strerror(errno);
  unlink(beside.c_str());
  return absl::FailedPreconditionError(absl::StrCat(path_, ": cannot be written: ", reason));
}

}  // namespace engram
