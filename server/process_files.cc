#include "server/process_files.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/host_port.h"

namespace engram {
namespace {

constexpr size_t kTextBytesMax = 512;  // a host name has at most 255

// The text of a small regular file; nothing where it is missing, larger, or something else.
std::optional<std::string> ReadSmallFile(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(std::filesystem::symlink_status(path, error))) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  std::string text(kTextBytesMax + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  if (text.size() > kTextBytesMax) return std::nullopt;
  return text;
}

}  // namespace

bool LooksLikePortFile(const std::string& text) {
  return text.ends_with('\n') && ParseHostPort(text.substr(0, text.size() - 1)).ok();
}

bool LooksLikePidFile(const std::string& text) {
  return text.size() > 1 && text.find_first_not_of("0123456789") == text.size() - 1 && text.ends_with('\n');
}

AnnouncementFile::AnnouncementFile(std::string field, std::string path, bool (*is_ours)(const std::string&))
    : field_(std::move(field)), path_(std::move(path)), is_ours_(is_ours) {}

AnnouncementFile::~AnnouncementFile() { Remove(); }

absl::Status AnnouncementFile::Refuse(const std::string& why) const {
  return absl::FailedPreconditionError(absl::StrCat(field_, " = ", path_, ": ", why));
}

absl::Status AnnouncementFile::Claim() {
  if (path_.empty()) return absl::OkStatus();
  std::error_code error;
  if (std::filesystem::exists(std::filesystem::symlink_status(path_, error))) {
    const std::optional<std::string> text = ReadSmallFile(path_);
    if (!text.has_value() || !is_ours_(*text)) {
      return Refuse("exists, and is not what an earlier run would have left: remove it, or give another path");
    }
    if (unlink(path_.c_str()) != 0) return Refuse(absl::StrCat("cannot be removed: ", std::strerror(errno)));
  }
  std::filesystem::path folder = std::filesystem::path(path_).parent_path();
  if (folder.empty()) folder = ".";
  if (access(folder.c_str(), W_OK | X_OK) == 0) return absl::OkStatus();
  return Refuse(absl::StrCat("cannot be written: ", std::strerror(errno)));
}

absl::Status AnnouncementFile::Write(const std::string& text) {
  if (path_.empty()) return absl::OkStatus();
  const std::string beside = absl::StrCat(path_, ".", getpid());
  std::ofstream file(beside, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (file.good() && std::rename(beside.c_str(), path_.c_str()) == 0) {
    written_ = text;
    return absl::OkStatus();
  }
  const std::string reason = std::strerror(errno);
  unlink(beside.c_str());
  return Refuse(absl::StrCat("cannot be written: ", reason));
}

void AnnouncementFile::Remove() const {
  if (!written_.empty() && ReadSmallFile(path_) == written_) unlink(path_.c_str());
}

}  // namespace engram
