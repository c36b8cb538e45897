#include "shard/direct_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "model/files/errors.h"

namespace engram {
namespace {

uint64_t WholeSectors(uint64_t bytes) {
  return (bytes + DirectFile::kAlignment - 1) / DirectFile::kAlignment * DirectFile::kAlignment;
}

}  // namespace

// The path may name another file by now, and a flag set on the first descriptor would bind all its readers.
DirectFile::DirectFile(const File& file, bool direct) : file_(file), direct_(direct) {
  if (!direct) return;
  descriptor_ = ::open(absl::StrCat("/proc/self/fd/", file.descriptor()).c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT);
  if (descriptor_ < 0) refusal_ = errno;
}

DirectFile::~DirectFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

uint64_t DirectFile::RoomFor(uint64_t bytes) const { return direct_ ? WholeSectors(bytes) + kAlignment : bytes; }

absl::StatusOr<std::byte*> DirectFile::Read(uint64_t offset, uint64_t bytes, std::byte* room) const {
  const uint64_t before = direct_ ? offset % kAlignment : 0;
  uint64_t done = 0;
  if (direct_ && refusal_ == 0) {
    const uint64_t read = ReadSectors(offset - before, WholeSectors(before + bytes), room);
    done = read <= before ? 0 : std::min(read - before, bytes);
  }
  std::byte* out = room + before;
  ENGRAM_RETURN_IF_ERROR(file_.ReadExactly(offset + done, out + done, static_cast<size_t>(bytes - done)));
  return out;
}

uint64_t DirectFile::ReadSectors(uint64_t offset, uint64_t bytes, std::byte* out) const {
  uint64_t done = 0;
  while (done < bytes) {
    const ssize_t count = ::pread(descriptor_, out + done, bytes - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EINVAL) refusal_ = EINVAL;
    if (count <= 0) break;
    done += static_cast<uint64_t>(count);
    if (done % kAlignment != 0) break;  // the last sector of the file is not whole
  }
  return done;
}

}  // namespace engram
