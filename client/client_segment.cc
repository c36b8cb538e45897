#include "client/client_segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iterator>
#include <random>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace engram {
namespace {

// Places begin and end at cache lines: the server writes one while the client reads its neighbour.
constexpr uint64_t kAlignment = 64;

uint64_t RoundUp(uint64_t bytes) { return bytes + (kAlignment - bytes % kAlignment) % kAlignment; }

// 128 bits: no other name is hit, and nobody guesses it.
std::string RandomName(const std::string& prefix) {
  std::random_device random;
  std::string name = prefix;
  for (int i = 0; i < 4; ++i) absl::StrAppend(&name, absl::Hex(random(), absl::kZeroPad8));
  return name;
}

absl::Status Failed(const std::string& name, uint64_t bytes, int error) {
  const std::string message =
      absl::StrCat("shared memory \"", absl::CEscape(name), "\" of ", bytes, " bytes: ", std::strerror(error));
  if (error == EINVAL || error == ENAMETOOLONG || error == ENOENT) return absl::InvalidArgumentError(message);
  return error == EACCES ? absl::PermissionDeniedError(message) : absl::ResourceExhaustedError(message);
}

// Null, with errno.
void* MapNew(int file, uint64_t bytes) {
  // Not ftruncate: a segment that /dev/shm has no room for fails here, and not while rows are written.
  int error = EINTR;
  while (error == EINTR) error = posix_fallocate(file, 0, static_cast<off_t>(bytes));
  if (error != 0) {
    errno = error;
    return nullptr;
  }
  void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (data == MAP_FAILED) return nullptr;
  madvise(data, bytes, MADV_POPULATE_WRITE);  // a wish: else pages are mapped as they are used
  return data;
}

}  // namespace

absl::StatusOr<std::shared_ptr<ClientSegment>> ClientSegment::Create(const SharedMemoryOptions& options) {
  const std::string name = RandomName(options.name_prefix);
  const uint64_t bytes = RoundUp(options.bytes);
  if (bytes == 0 || bytes > uint64_t{1} << 62) {
    return absl::InvalidArgumentError(absl::StrCat("shared_memory.bytes = ", options.bytes, ": must be in [1, 2^62]"));
  }
  const int file = shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return Failed(name, bytes, errno);
  void* const data = MapNew(file, bytes);
  const int error = errno;
  close(file);
  if (data == nullptr) {
    shm_unlink(name.c_str());
    return Failed(name, bytes, error);
  }
  return std::shared_ptr<ClientSegment>(new ClientSegment(name, static_cast<uint8_t*>(data), bytes));
}

ClientSegment::~ClientSegment() {
  Unlink();
  munmap(data_, bytes_);
}

void ClientSegment::Unlink() {
  if (linked_.exchange(false)) shm_unlink(name_.c_str());
}

std::shared_ptr<SegmentPlace> ClientSegment::Take(uint64_t bytes) {
  if (bytes > bytes_) return nullptr;
  const uint64_t reserved = RoundUp(bytes);
  MutexLock lock(mu_);
  // The first that fits: few pages are in use, and those stay in caches.
  for (auto piece = free_.begin(); piece != free_.end(); ++piece) {
    const auto [offset, size] = *piece;
    if (size < reserved) continue;
    free_.erase(piece);
    if (size > reserved) free_.emplace(offset + reserved, size - reserved);
    return std::make_shared<SegmentPlace>(shared_from_this(), offset, bytes, reserved);
  }
  return nullptr;
}

uint64_t ClientSegment::free_bytes() const {
  MutexLock lock(mu_);
  uint64_t bytes = 0;
  for (const auto& [offset, size] : free_) bytes += size;
  return bytes;
}

void ClientSegment::GiveBack(uint64_t offset, uint64_t bytes) {
  MutexLock lock(mu_);
  auto after = free_.lower_bound(offset);
  if (after != free_.end() && offset + bytes == after->first) {
    bytes += after->second;
    after = free_.erase(after);
  }
  if (after != free_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == offset) {
      before->second += bytes;
      return;
    }
  }
  free_.emplace(offset, bytes);
}

}  // namespace engram
