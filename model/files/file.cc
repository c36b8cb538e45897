#include "model/files/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "model/files/errors.h"

namespace engram {
namespace {

absl::Status SystemError(int error, const std::string& path, const char* action) {
  const std::string message = absl::StrCat(path, ": cannot ", action, ": ", std::strerror(error));
  if (error == ENOENT || error == ENOTDIR) return absl::NotFoundError(message);
  if (error == EACCES || error == EPERM) return absl::PermissionDeniedError(message);
  return absl::UnavailableError(message);
}

int64_t ModifiedNs(const struct stat& status) {
  return int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
}

}  // namespace

absl::StatusOr<File> File::Open(const std::string& path) {
  // O_NONBLOCK: opening a pipe must not wait for its other end. It changes nothing for regular files.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return SystemError(errno, path, "open");
  File file(path, descriptor);
  struct stat status;
  if (::fstat(descriptor, &status) != 0) return SystemError(errno, path, "stat");
  if (S_ISDIR(status.st_mode)) return absl::InvalidArgumentError(absl::StrCat(path, ": is a folder, not a file"));
  if (!S_ISREG(status.st_mode)) return absl::InvalidArgumentError(absl::StrCat(path, ": is not a regular file"));
  file.size_ = static_cast<uint64_t>(status.st_size);
  file.modified_ns_ = ModifiedNs(status);
  return file;
}

File::File(File&& other) noexcept { *this = std::move(other); }

File& File::operator=(File&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(size_, other.size_);
  std::swap(modified_ns_, other.modified_ns_);
  return *this;
}

File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

absl::Status File::ReadExactly(uint64_t offset, void* out, size_t bytes) const {
  constexpr uint64_t kOffsetMax = static_cast<uint64_t>(INT64_MAX);
  if (offset > kOffsetMax || bytes > kOffsetMax - offset) {
    return absl::DataLossError(absl::StrCat(path_, ": ", bytes, " bytes at offset ", offset, " lie beyond any file"));
  }
  auto* position = static_cast<char*>(out);
  for (size_t done = 0; done < bytes;) {
    const ssize_t count = ::pread(descriptor_, position + done, bytes - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return SystemError(errno, path_, "read");
    if (count == 0) {
      return absl::DataLossError(absl::StrCat(path_, ": ends at offset ", offset + done, ", but ", bytes,
                                              " bytes are needed from offset ", offset));
    }
    done += static_cast<size_t>(count);
  }
  return absl::OkStatus();
}

absl::Status File::CheckUnchanged() const {
  struct stat status;
  if (::fstat(descriptor_, &status) != 0) return SystemError(errno, path_, "stat");
  if (static_cast<uint64_t>(status.st_size) != size_) {
    return absl::DataLossError(
        absl::StrCat(path_, ": changed while in use: ", size_, " bytes when opened, ", status.st_size, " now"));
  }
  if (ModifiedNs(status) != modified_ns_) {
    return absl::DataLossError(absl::StrCat(path_, ": was written to while in use"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadWholeFile(const std::string& path, uint64_t bytes_max) {
  ENGRAM_ASSIGN_OR_RETURN(File file, File::Open(path));
  if (file.size() > bytes_max) {
    return absl::ResourceExhaustedError(
        absl::StrCat(path, ": has ", file.size(), " bytes, at most ", bytes_max, " are read"));
  }
  std::string text(file.size(), '\0');
  ENGRAM_RETURN_IF_ERROR(file.ReadExactly(0, text.data(), text.size()));
  return text;
}

}  // namespace engram
