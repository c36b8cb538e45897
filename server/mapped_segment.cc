#include "server/mapped_segment.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/bus_guard.h"
#include "model/check.h"

namespace engram {
namespace {

constexpr size_t kNameBytesMax = 255;  // NAME_MAX, its slash included
constexpr mode_t kOthers = 007;

// Closes it.
class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int get() const { return descriptor_; }

 private:
  const int descriptor_;
};

std::string Shown(const std::string& name) { return absl::StrCat("name = \"", absl::CEscape(name), "\""); }

absl::Status CheckName(const std::string& name, const std::string& prefix) {
  if (name.size() > kNameBytesMax) {  // not shown: it may be as long as a message
    return absl::InvalidArgumentError(absl::StrCat("name: ", name.size(), " bytes: must have at most ", kNameBytesMax));
  }
  if (!absl::StartsWith(name, prefix) || name.size() == prefix.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(Shown(name), ": must begin with \"", prefix, "\" (shared_memory.name_prefix) and go on"));
  }
  if (name.find('/', 1) != std::string::npos || name.find('\0') != std::string::npos) {
    return absl::InvalidArgumentError(absl::StrCat(Shown(name), ": must have one slash, in front, and no NUL"));
  }
  return absl::OkStatus();
}

absl::Status CheckBytes(uint64_t bytes, uint64_t bytes_max) {
  if (bytes == 0) return absl::InvalidArgumentError("bytes = 0: must be at least 1");
  if (bytes <= bytes_max) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("bytes = ", bytes, ": at most ", bytes_max, " (shared_memory.segment_bytes_max)"));
}

#if defined(__SSE2__)
constexpr size_t kLineBytes = 64;
constexpr size_t kPastCachesBytes = size_t{256} << 10;

// Frames of larger steps go past the caches: nothing here reads them again, and the rows that are gathered next need
// the room. Small ones stay there for the client, which waits for them.
void Copy(std::byte* to, const std::byte* from, size_t bytes) {
  if (bytes < kPastCachesBytes) {
    std::memcpy(to, from, bytes);
    return;
  }
  size_t at = (kLineBytes - reinterpret_cast<uintptr_t>(to) % kLineBytes) % kLineBytes;
  std::memcpy(to, from, at);
  for (; at + kLineBytes <= bytes; at += kLineBytes) {
    for (size_t i = at; i < at + kLineBytes; i += sizeof(__m128i)) {
      const __m128i word = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + i), word);
    }
  }
  std::memcpy(to + at, from + at, bytes - at);
  _mm_sfence();  // before the client is told
}
#else
void Copy(std::byte* to, const std::byte* from, size_t bytes) { std::memcpy(to, from, bytes); }
#endif

absl::Status StatusOfErrno(int error, const std::string& what) {
  const std::string message = absl::StrCat(what, ": ", std::strerror(error));
  switch (error) {
    case ENOENT:
      return absl::NotFoundError(absl::StrCat(message, " on the server's host (client and server must share one)"));
    case ELOOP:
      return absl::PermissionDeniedError(absl::StrCat(what, ": must not be a symbolic link"));
    case EACCES:
    case EPERM:
      return absl::PermissionDeniedError(message);
    case EINVAL:
    case EISDIR:
    case ENAMETOOLONG:
    case ENODEV:
    case ENXIO:
      return absl::InvalidArgumentError(message);
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return absl::ResourceExhaustedError(message);
    default:
      return absl::InternalError(message);
  }
}

absl::Status CheckObject(const struct stat& object, const std::string& name, uint64_t bytes,
                         const SegmentRules& rules) {
  if (!S_ISREG(object.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(Shown(name), ": must be a regular object of shared memory"));
  }
  const auto& uids = rules.owner_uids;
  if (object.st_uid != geteuid() && std::find(uids.begin(), uids.end(), object.st_uid) == uids.end()) {
    return absl::PermissionDeniedError(
        absl::StrCat(Shown(name), ": owned by user ", object.st_uid, ": must be the server's user ", geteuid(),
                     " or one of shared_memory.owner_uids (", absl::StrJoin(uids, ", "), ")"));
  }
  if ((object.st_mode & kOthers) != 0) {
    return absl::PermissionDeniedError(absl::StrCat(Shown(name), ": its mode gives others ", object.st_mode & kOthers,
                                                    ": must be 0 (0600, or 0660 for a group)"));
  }
  if (static_cast<uint64_t>(object.st_size) >= bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("bytes = ", bytes, ": \"", absl::CEscape(name), "\" has ", object.st_size));
}

}  // namespace

absl::StatusOr<std::shared_ptr<MappedSegment>> MappedSegment::Open(const std::string& name, uint64_t bytes,
                                                                   const SegmentRules& rules) {
  if (absl::Status status = CheckName(name, rules.name_prefix); !status.ok()) return status;
  if (absl::Status status = CheckBytes(bytes, rules.bytes_max); !status.ok()) return status;
  // Neither waits for a writer, should it be a pipe, nor follows a link.
  const File file(shm_open(name.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0));
  if (file.get() < 0) return StatusOfErrno(errno, Shown(name));
  struct stat object {};
  if (fstat(file.get(), &object) != 0) return StatusOfErrno(errno, Shown(name));
  if (absl::Status status = CheckObject(object, name, bytes, rules); !status.ok()) return status;
  void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (data == MAP_FAILED) return StatusOfErrno(errno, Shown(name));
  madvise(data, bytes, MADV_HUGEPAGE);  // a wish
  return std::shared_ptr<MappedSegment>(new MappedSegment(name, static_cast<std::byte*>(data), bytes));
}

MappedSegment::~MappedSegment() { munmap(data_, bytes_); }

absl::Status MappedSegment::Write(uint64_t offset, absl::Span<const std::byte> data) {
  ENGRAM_CHECK(offset <= bytes_ && data.size() <= bytes_ - offset);
  std::byte* const to = data_ + offset;
  if (RunGuardedFromBusError([to, data] { Copy(to, data.data(), data.size()); })) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("segment \"", absl::CEscape(name_), "\" could not take ", data.size(),
                                          " bytes at offset ", offset,
                                          ": it is smaller than it was, or its host has no memory for it"));
}

}  // namespace engram
