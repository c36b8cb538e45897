#include "shard/anonymous_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace engram {

uint64_t AvailableMemory() {
  std::ifstream lines("/proc/meminfo");
  std::string key;
  uint64_t kibibytes = 0;
  std::string unit;
  while (lines >> key >> kibibytes) {
    if (key == "MemAvailable:") return kibibytes * 1024;
    std::getline(lines, unit);
  }
  return UINT64_MAX;
}

absl::StatusOr<AnonymousMemory> AnonymousMemory::Allocate(uint64_t bytes, std::string_view purpose) {
  if (bytes == 0) return AnonymousMemory();
  const absl::string_view what(purpose.data(), purpose.size());
  // Memory is overcommitted: without asking, a shard too large for the machine would be killed half-way through its
  // load.
  const uint64_t available = AvailableMemory();
  if (bytes > available) {
    return absl::ResourceExhaustedError(
        absl::StrCat(what, " needs ", bytes, " bytes of memory; ", available, " are available"));
  }
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        absl::StrCat(what, " needs ", bytes, " bytes of memory: ", std::strerror(errno)));
  }
  madvise(data, bytes, MADV_HUGEPAGE);  // a wish: kernels without huge pages serve small ones
  return AnonymousMemory(static_cast<std::byte*>(data), bytes);
}

AnonymousMemory::AnonymousMemory(AnonymousMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

AnonymousMemory& AnonymousMemory::operator=(AnonymousMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

AnonymousMemory::~AnonymousMemory() {
  if (data_ != nullptr) munmap(data_, size_);
}

}  // namespace engram
