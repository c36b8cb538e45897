// Reads a file forwards in small pieces, with few system calls.

#ifndef ENGRAM_MODEL_FILES_GGUF_CURSOR_H_
#define ENGRAM_MODEL_FILES_GGUF_CURSOR_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/files/file.h"

namespace engram {

// Borrows the file. Not thread-safe. DATA_LOSS naming path and offset where the file ends inside what is asked for.
class GgufCursor {
 public:
  explicit GgufCursor(const File& file) : file_(file) {}

  uint64_t position() const { return position_; }
  uint64_t remaining() const { return file_.size() - position_; }  // bytes behind the cursor

  absl::Status Read(void* out, uint64_t bytes);
  absl::Status Skip(uint64_t bytes);
  absl::Status ReadNumber(uint32_t* value) { return Read(value, sizeof(*value)); }
  absl::Status ReadNumber(uint64_t* value) { return Read(value, sizeof(*value)); }

  // An 8-byte length and that many bytes. INVALID_ARGUMENT naming `what` above `bytes_max`.
  absl::StatusOr<std::string> ReadString(const std::string& what, uint64_t bytes_max);

 private:
  absl::Status CheckRemaining(uint64_t bytes) const;

  const File& file_;
  uint64_t position_ = 0;
  uint64_t buffer_begin_ = 0;  // position in the file of buffer_[0]
  std::string buffer_;
};

}  // namespace engram

#endif  // ENGRAM_MODEL_FILES_GGUF_CURSOR_H_
