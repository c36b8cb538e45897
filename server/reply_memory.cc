#include "server/reply_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"
#include "model/files/errors.h"

namespace engram {

absl::StatusOr<ReplyMemory> MapReplyMemory(uint64_t bytes) {
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        absl::StrCat("reply buffers need ", bytes, " bytes of memory: ", std::strerror(errno)));
  }
  madvise(data, bytes, MADV_HUGEPAGE);  // a wish: kernels without huge pages serve small ones
  return ReplyMemory{{static_cast<std::byte*>(data), bytes},
                     std::shared_ptr<const void>(data, [bytes, data](const void*) { munmap(data, bytes); })};
}

absl::StatusOr<ReplyMemory> MakeReplyMemory(Engine& engine, const EngineOptions& options) {
  ReplyMemory shared = engine.reply_memory();
  if (!shared.bytes.empty() || !options.OnGpu()) return shared;
  ENGRAM_ASSIGN_OR_RETURN(ReplyMemory mapped, MapReplyMemory(options.reply_bytes));
  ENGRAM_RETURN_IF_ERROR(engine.PinReplyMemory(mapped.bytes));
  return mapped;
}

}  // namespace engram
