// Read-only files: descriptors and exact reads.

#ifndef ENGRAM_MODEL_FILES_FILE_H_
#define ENGRAM_MODEL_FILES_FILE_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace engram {

// Owns a read-only descriptor from Open until destruction. Movable; the const functions may be called from any thread.
class File {
 public:
  // NOT_FOUND, PERMISSION_DENIED, INVALID_ARGUMENT (a folder, a device, a pipe), UNAVAILABLE (any other error of the
  // system).
  static absl::StatusOr<File> Open(const std::string& path);
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File();

  const std::string& path() const { return path_; }
  int descriptor() const { return descriptor_; }
  uint64_t size() const { return size_; }  // bytes, when opened

  // Fills `out` from `offset`. DATA_LOSS naming the path and offset where the file ends before; UNAVAILABLE on I/O
  // errors.
  absl::Status ReadExactly(uint64_t offset, void* out, size_t bytes) const;

  // DATA_LOSS when the size or modification time of the open file is no longer what it was at Open. Another file put in
  // its place under the same name is not a change: the descriptor goes on reading the old one.
  absl::Status CheckUnchanged() const;

 private:
  File(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  std::string path_;
  int descriptor_ = -1;
  uint64_t size_ = 0;
  int64_t modified_ns_ = 0;
};

// The whole of a small file. RESOURCE_EXHAUSTED above `bytes_max`.
absl::StatusOr<std::string> ReadWholeFile(const std::string& path, uint64_t bytes_max);

}  // namespace engram

#endif  // ENGRAM_MODEL_FILES_FILE_H_
