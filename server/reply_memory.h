// Where replies should lie, so that ranks fill them without a detour.

#ifndef ENGRAM_SERVER_REPLY_MEMORY_H_
#define ENGRAM_SERVER_REPLY_MEMORY_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "shard/engine.h"

namespace engram {

// Memory of this process's own, huge pages asked for. RESOURCE_EXHAUSTED naming the size.
absl::StatusOr<ReplyMemory> MapReplyMemory(uint64_t bytes);

// The engine's own, where its ranks share some; options.reply_bytes of ours, page-locked, where they are on GPUs; else
// none. Call once, before the first round; it must outlive the engine. RESOURCE_EXHAUSTED naming the size.
absl::StatusOr<ReplyMemory> MakeReplyMemory(Engine& engine, const EngineOptions& options);

}  // namespace engram

#endif  // ENGRAM_SERVER_REPLY_MEMORY_H_
