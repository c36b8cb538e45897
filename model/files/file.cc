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

int64_t Nanoseconds(const struct timespec& time) { return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

}  // namespace

absl::Status SystemError(int error, const std::string& path, const char* action) {
  const std::string message = absl::StrCat(path, ": cannot ", action, ": ", std::strerror(error));
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return absl::NotFoundError(message);
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::PermissionDeniedError(message);
    case EINVAL:
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case ENODEV:
    case ENXIO:
    case EOPNOTSUPP:
    case EOVERFLOW:
    case ESPIPE:
      return absl::InvalidArgumentError(message);
    default:
      return absl::UnavailableError(message);
  }
}

File::Stamp File::StampOf(const struct stat& status) {
  return {Nanoseconds(status.st_mtim),
          Nanoseconds(status.st_ctim),
          {status.st_nlink, status.st_mode, status.st_uid, status.st_gid}};
}

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
  file.stamp_ = StampOf(status);
  return file;
}

File::File(File&& other) noexcept { *this = std::move(other); }

File& File::operator=(File&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(size_, other.size_);
  std::swap(stamp_, other.stamp_);
  std::swap(is_lost_, other.is_lost_);
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
    if (count < 0) {
      return SystemError(errno, path_, absl::StrCat("read ", bytes - done, " bytes at offset ", offset + done).c_str());
    }
    if (count == 0) {
      return absl::DataLossError(absl::StrCat(path_, ": ends at offset ", offset + done, ", but ", bytes,
                                              " bytes are needed from offset ", offset));
    }
    done += static_cast<size_t>(count);
  }
  return absl::OkStatus();
}

absl::Status File::CheckUnchanged() {
  struct stat status;
  if (::fstat(descriptor_, &status) != 0) return SystemError(errno, path_, "stat");
  const Stamp now = StampOf(status);
  const bool is_resized = static_cast<uint64_t>(status.st_size) != size_;
  const bool is_renewed = now.changed_ns != stamp_.changed_ns && now.attributes == stamp_.attributes;
  is_lost_ = is_lost_ || is_resized || is_renewed || now.modified_ns != stamp_.modified_ns;
  if (is_resized) {
    return absl::DataLossError(
        absl::StrCat(path_, ": changed while in use: ", size_, " bytes when opened, ", status.st_size, " now"));
  }
  if (is_lost_) return absl::DataLossError(absl::StrCat(path_, ": was written to while in use"));
  stamp_ = now;
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
