// A read-only mapping of some bytes of a file.

#ifndef ENGRAM_SHARD_FILE_WINDOW_H_
#define ENGRAM_SHARD_FILE_WINDOW_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "model/files/file.h"

namespace engram {

// Owns the mapping of the pages around its bytes. Movable. Reading bytes that the file no longer has is a bus error.
class FileWindow {
 public:
  // Bytes [offset, offset + size) of `file`, for random reads. 0 bytes are ordinary. RESOURCE_EXHAUSTED when the kernel
  // refuses.
  static absl::StatusOr<FileWindow> Map(const File& file, uint64_t offset, uint64_t size);

  FileWindow(FileWindow&& other) noexcept;
  FileWindow& operator=(FileWindow&&) = delete;
  ~FileWindow();

  const uint8_t* data() const { return pages_ + skip_; }  // the byte at `offset`; unaligned

  // Starts reading the pages of bytes [at, at + count) of the window, without waiting for them.
  void ReadAhead(uint64_t at, uint64_t count) const;

 private:
  FileWindow(uint8_t* pages, uint64_t pages_bytes, uint64_t skip)
      : pages_(pages), pages_bytes_(pages_bytes), skip_(skip) {}

  uint8_t* pages_ = nullptr;
  uint64_t pages_bytes_ = 0;
  uint64_t skip_ = 0;  // bytes before the window on its first page
};

}  // namespace engram

#endif  // ENGRAM_SHARD_FILE_WINDOW_H_
