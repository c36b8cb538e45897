#include "model/files/gguf_cursor.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "model/files/errors.h"

namespace engram {
namespace {

constexpr uint64_t kBufferBytes = 64 * 1024;

}  // namespace

absl::Status GgufCursor::CheckRemaining(uint64_t bytes) const {
  if (bytes <= remaining()) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(file_.path(), ": ends inside its header: ", bytes,
                                          " bytes are needed at offset ", position_, ", the file has ", file_.size()));
}

absl::Status GgufCursor::Read(void* out, uint64_t bytes) {
  ENGRAM_RETURN_IF_ERROR(CheckRemaining(bytes));
  auto* target = static_cast<char*>(out);
  while (bytes > 0) {
    if (position_ < buffer_begin_ || position_ >= buffer_begin_ + buffer_.size()) {
      buffer_.resize(std::min(kBufferBytes, remaining()));
      buffer_begin_ = position_;
      ENGRAM_RETURN_IF_ERROR(file_.ReadExactly(position_, buffer_.data(), buffer_.size()));
    }
    const uint64_t begin = position_ - buffer_begin_;
    const uint64_t count = std::min(bytes, buffer_.size() - begin);
    std::memcpy(target, buffer_.data() + begin, count);
    target += count;
    position_ += count;
    bytes -= count;
  }
  return absl::OkStatus();
}

absl::Status GgufCursor::Skip(uint64_t bytes) {
  ENGRAM_RETURN_IF_ERROR(CheckRemaining(bytes));
  position_ += bytes;
  return absl::OkStatus();
}

absl::StatusOr<std::string> GgufCursor::ReadString(const std::string& what, uint64_t bytes_max) {
  uint64_t bytes = 0;
  ENGRAM_RETURN_IF_ERROR(ReadNumber(&bytes));
  if (bytes > bytes_max) {
    return absl::InvalidArgumentError(
        absl::StrCat(file_.path(), ": the length of ", what, " is ", bytes, ", at most ", bytes_max, " is allowed"));
  }
  ENGRAM_RETURN_IF_ERROR(CheckRemaining(bytes));
  std::string text(bytes, '\0');
  ENGRAM_RETURN_IF_ERROR(Read(text.data(), bytes));
  return text;
}

}  // namespace engram
