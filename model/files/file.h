// Read-only files: descriptors and exact reads.

#ifndef ENGRAM_MODEL_FILES_FILE_H_
#define ENGRAM_MODEL_FILES_FILE_H_

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace engram {

// The error of a system call on `path`, after what it means to whoever tries again: NOT_FOUND, PERMISSION_DENIED and
// INVALID_ARGUMENT (a name too long, a ring of links, ...) stay as they are, UNAVAILABLE (a disk that fails, no memory,
// no descriptors, and whatever else there is) may pass.
absl::Status SystemError(int error, const std::string& path, const char* action);

// Owns a read-only descriptor from Open until destruction. Movable; the const functions may be called from any thread.
class File {
 public:
  // The errors of SystemError; INVALID_ARGUMENT also for a folder, a device, a pipe.
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

  // DATA_LOSS, from then on, when the open file was cut, extended or written to since Open. A write shows in the time
  // of modification or, where that was set back, in the time of change, which nobody can set. The latter moves for
  // links, mode and owner too: it is taken for a write unless one of these differs from the last call. So another file
  // put in the place of this one, unlink and chmod are no changes (the descriptor goes on reading the old file); a
  // write whose modification time was set back together with a chmod is not told from a chmod. One thread at a time.
  absl::Status CheckUnchanged();

 private:
  // What fstat says of a file that tells of changes.
  struct Stamp {
    int64_t modified_ns = 0;
    int64_t changed_ns = 0;
    std::tuple<nlink_t, mode_t, uid_t, gid_t> attributes;
  };

  File(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  static Stamp StampOf(const struct stat& status);

  std::string path_;
  int descriptor_ = -1;
  uint64_t size_ = 0;
  Stamp stamp_;           // at the last look
  bool is_lost_ = false;  // found changed once: nothing after that makes it good again
};

// The whole of a small file. RESOURCE_EXHAUSTED above `bytes_max`.
absl::StatusOr<std::string> ReadWholeFile(const std::string& path, uint64_t bytes_max);

}  // namespace engram

#endif  // ENGRAM_MODEL_FILES_FILE_H_
