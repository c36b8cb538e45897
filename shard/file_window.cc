#include "shard/file_window.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace engram {
namespace {

uint64_t PageBytes() {
  static const auto bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace

absl::StatusOr<FileWindow> FileWindow::Map(const File& file, uint64_t offset, uint64_t size) {
  if (size == 0) return FileWindow(nullptr, 0, 0);
  const uint64_t skip = offset % PageBytes();
  void* pages = mmap(nullptr, skip + size, PROT_READ, MAP_SHARED, file.descriptor(), static_cast<off_t>(offset - skip));
  if (pages == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        absl::StrCat(file.path(), ": cannot map ", size, " bytes at ", offset, ": ", std::strerror(errno)));
  }
  madvise(pages, skip + size, MADV_RANDOM);  // read-ahead around a random row is waste
  return FileWindow(static_cast<uint8_t*>(pages), skip + size, skip);
}

FileWindow::FileWindow(FileWindow&& other) noexcept
    : pages_(std::exchange(other.pages_, nullptr)), pages_bytes_(other.pages_bytes_), skip_(other.skip_) {}

FileWindow::~FileWindow() {
  if (pages_ != nullptr) munmap(pages_, pages_bytes_);
}

void FileWindow::ReadAhead(uint64_t at, uint64_t count) const {
  const uint64_t begin = (skip_ + at) / PageBytes() * PageBytes();
  madvise(pages_ + begin, skip_ + at + count - begin, MADV_WILLNEED);
}

}  // namespace engram
