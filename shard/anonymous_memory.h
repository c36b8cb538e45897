// Zeroed memory of the process's own, straight from the kernel: huge pages where there are some, untouched pages cost
// nothing, and too much of it is an error instead of an exception.

#ifndef ENGRAM_SHARD_ANONYMOUS_MEMORY_H_
#define ENGRAM_SHARD_ANONYMOUS_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"

namespace engram {

// MemAvailable of the machine, in bytes; the largest number where the kernel does not say.
uint64_t AvailableMemory();

// Owns one anonymous mapping. Movable; not thread-safe.
class AnonymousMemory {
 public:
  AnonymousMemory() = default;
  // RESOURCE_EXHAUSTED naming `purpose` and the size when the machine has not that much available. 0 bytes are
  // ordinary.
  static absl::StatusOr<AnonymousMemory> Allocate(uint64_t bytes, std::string_view purpose);

  AnonymousMemory(AnonymousMemory&& other) noexcept;
  AnonymousMemory& operator=(AnonymousMemory&& other) noexcept;
  ~AnonymousMemory();

  std::byte* data() const { return data_; }  // page-aligned
  size_t size() const { return size_; }

 private:
  AnonymousMemory(std::byte* data, size_t size) : data_(data), size_(size) {}

  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace engram

#endif  // ENGRAM_SHARD_ANONYMOUS_MEMORY_H_
